"""`azero.doctor` looks at everything, and says of what is not sound what to do."""

import re
import subprocess
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import pytest

from azero import doctor
from azero.doctor import DoctorSettings, Finding, checks, directory, kernels, packages


def examine(name: str) -> Finding:
    return doctor._examined(dict(checks(DoctorSettings(seconds=0.1)))[name])


@pytest.mark.compiled
def test_every_line_of_the_page_tells_something(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with suppress(SystemExit):  # a busy machine is no fault of azero's
        doctor.main(["seconds=0.1", f"directory={tmp_path}"])
    lines = capsys.readouterr().out.splitlines()
    names = [name for name, _ in checks(DoctorSettings())]
    assert [line[2:14].strip() for line in lines if line[2:14].strip() in names] == names
    assert lines[-1] == "All is well." or lines[-1].endswith("need something done.")
    assert "failed" not in "".join(lines)


@pytest.mark.compiled
def test_speeds_are_counted() -> None:
    for name, unit in (("search", "simulations a second"), ("network", "states a second"), ("self-play", "positions")):
        text = examine(name).text
        assert unit in text
        assert "failed" not in text
    assert " 0 positions" not in examine("self-play").text


def test_a_package_that_is_missing_or_too_old_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert packages().advice == ""
    monkeypatch.setattr(metadata, "requires", lambda _: ["numpy>=99", "nowhere-to-be-found>=1", "rich>=1"])
    found = packages()
    assert "numpy" in found.text
    assert "is not >=99" in found.text
    assert "nowhere-to-be-found is missing" in found.text
    assert "rich" not in found.text
    assert found.advice == "pip install -c constraints.txt -e ."


def test_a_requirement_of_another_python_or_an_extra_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    unneeded = ["nowhere-to-be-found; python_version < '3'", "nowhere-to-be-found; extra == 'test'"]
    monkeypatch.setattr(metadata, "requires", lambda _: ["numpy", *unneeded])
    assert packages() == Finding(f"azero {metadata.version('azero')} and the 1 packages that it needs")


def test_what_cannot_be_written_is_said_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert directory(tmp_path / "not" / "yet" / "there").advice == ""
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("tempfile.NamedTemporaryFile", lambda **_: (_ for _ in ()).throw(OSError(30, "Read-only")))
    found = directory(tmp_path)
    assert found.text == f"{tmp_path} cannot be written: Read-only"
    assert "run=PATH" in found.advice


def test_kernels_that_cannot_be_kept_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AZERO_CACHE_DIR", str(tmp_path / "file"))
    assert "AZERO_CACHE_DIR" in kernels().advice
    monkeypatch.setenv("AZERO_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels().advice == "unset NUMBA_DISABLE_JIT"
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    assert kernels().advice == ""


def test_a_full_disk_a_busy_machine_and_a_card_that_is_not_seen_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    assert "make room" in directory(tmp_path).advice
    monkeypatch.setattr("os.getloadavg", lambda: (99.0, 0.0, 0.0))
    assert "other programs" in examine("cores").advice
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/nvidia-smi")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert "a build for the processor alone" in examine("GPU").advice
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert examine("GPU") == Finding("PyTorch sees one: device=cuda uses it")


def test_a_check_that_fails_is_a_finding_and_the_others_are_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> Finding:
        raise ImportError("no such library\nand more")

    monkeypatch.setattr(doctor, "checks", lambda _: [("torn", broken), ("whole", lambda: Finding("fine"))])
    with pytest.raises(SystemExit) as end:
        doctor.main([])
    assert end.value.code == 1
    out = capsys.readouterr().out
    assert "! torn        failed: ImportError: no such library\n" in out
    assert "  whole       fine\n1 of these need something done.\n" in out


def test_the_other_lines_are_told_where_pytorch_is_missing(tmp_path: Path) -> None:
    code = "import sys; sys.modules['torch'] = None; from azero import doctor; doctor.main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", code, "seconds=0.1", f"directory={tmp_path}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert re.search(r"! network +failed: ModuleNotFoundError", done.stdout), done.stdout + done.stderr
    assert re.search(r"  directory +\S+ can be written", done.stdout), done.stdout
    assert "install azero anew" in done.stdout


def test_no_time_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="seconds must be above 0"):
        DoctorSettings(seconds=0)
