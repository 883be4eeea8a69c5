from hypothesis import settings

settings.register_profile("azero", derandomize=True, deadline=None)
settings.load_profile("azero")
