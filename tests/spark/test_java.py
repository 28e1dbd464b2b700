"""Java is found wherever it usually lies; where it is missing or old, the message says so and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from xstreamcast.errors import XStreamError
from xstreamcast.spark.java import candidates, find_java, main, parse_version, version_of


def install(home: Path, version: str, *, release: bool = True) -> Path:
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-10-15' >&2\n")
    program.chmod(0o755)
    if release:
        (home / "release").write_text(f'IMPLEMENTOR="Debian"\nJAVA_VERSION="{version}"\nOS_NAME="Linux"\n')
    return home


@pytest.mark.parametrize(
    ("text", "version"), [("17", 17), ("21.0.5", 21), ("1.8.0_412", 8), ("25-ea", 25), ("11.0.2+9", 11), ("none", None)]
)
def test_a_version_text_names_its_feature_release(text: str, version: int | None) -> None:
    assert parse_version(text) == version


def test_the_version_is_read_from_the_release_file_without_running_java(tmp_path: Path) -> None:
    home = install(tmp_path / "jdk", "21.0.5")
    (home / "bin" / "java").write_text("#!/bin/sh\nexit 7\n")
    assert version_of(home) == 21


def test_without_a_release_file_java_is_asked(tmp_path: Path) -> None:
    assert version_of(install(tmp_path / "jdk", "17.0.13", release=False)) == 17


def test_a_java_that_only_complains_is_no_java(tmp_path: Path) -> None:
    home = install(tmp_path / "jdk", "17", release=False)
    (home / "bin" / "java").write_text("#!/bin/sh\necho 'Unable to locate a Java Runtime.' >&2\nexit 1\n")
    assert version_of(home) is None


def test_java_home_comes_first_even_where_a_newer_one_is_on_the_path(tmp_path: Path) -> None:
    home = install(tmp_path / "named", "17.0.1")
    other = install(tmp_path / "other", "21.0.1")
    found = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")}, ())
    assert (found.home, found.found) == (home, "JAVA_HOME")


def test_an_old_java_home_is_passed_over_for_the_path(tmp_path: Path) -> None:
    old = install(tmp_path / "old", "11.0.2")
    fit = install(tmp_path / "fit", "17.0.1")
    found = find_java({"JAVA_HOME": str(old), "PATH": str(fit / "bin")}, ())
    assert (found.home, found.version) == (fit, 17)


def test_a_java_on_the_path_is_followed_to_its_home(tmp_path: Path) -> None:
    home = install(tmp_path / "jdk", "17.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert find_java({"PATH": str(tmp_path / "bin")}, ()).home == home


def test_the_usual_folders_are_searched_for_one_that_fits(tmp_path: Path) -> None:
    for name, version in (("java-8", "1.8.0_412"), ("java-17", "17.0.13"), ("java-11", "11.0.2")):
        install(tmp_path / "jvm" / name, version)
    (tmp_path / "jvm" / "not-java").mkdir()
    assert find_java({}, (f"{tmp_path}/jvm/*",)).home.name == "java-17"


def test_folders_below_the_home_folder_are_searched(tmp_path: Path) -> None:
    install(tmp_path / ".sdkman/candidates/java/21.0.5-tem", "21.0.5")
    found = find_java({"HOME": str(tmp_path)}, ("~/.sdkman/candidates/java/*",))
    assert found.version == 21


def test_the_macos_layout_is_known(tmp_path: Path) -> None:
    install(tmp_path / "temurin-17.jdk" / "Contents" / "Home", "17.0.13")
    assert find_java({}, (f"{tmp_path}/*/Contents/Home",)).version == 17


def test_one_installation_under_several_names_is_looked_at_once(tmp_path: Path) -> None:
    install(tmp_path / "jvm" / "java-17", "17.0.13")
    (tmp_path / "jvm" / "default").symlink_to(tmp_path / "jvm" / "java-17")
    assert len(list(candidates({}, (f"{tmp_path}/jvm/*",)))) == 1


def test_no_java_at_all_is_said_with_how_to_install_one() -> None:
    with pytest.raises(XStreamError, match="needs Java 17 or newer; no Java was found") as caught:
        find_java({}, ())
    assert caught.value.code == "XSC0060"
    assert "install" in caught.value.hint or "adoptium" in caught.value.hint


def test_every_java_that_is_too_old_is_named(tmp_path: Path) -> None:
    old = install(tmp_path / "jvm" / "java-11", "11.0.2")
    with pytest.raises(XStreamError) as caught:
        find_java({"JAVA_HOME": str(tmp_path / "gone")}, (f"{tmp_path}/jvm/*",))
    assert f"{old} is Java 11, too old" in caught.value.message
    assert f"JAVA_HOME: {tmp_path / 'gone'} is no Java that runs" in caught.value.message


def test_as_a_program_it_prints_the_home_or_fails_with_the_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = install(tmp_path / "jdk", "17.0.13")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert main() == 0
    assert capsys.readouterr().out == f"{home}\n"

    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(folders=()) == 1
    assert "Java 17 or newer" in capsys.readouterr().err
