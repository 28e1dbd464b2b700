"""``xcast completion``: what a shell needs to complete commands and options.

The script is made from the declarations once: completing asks no Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

from xstreamcast.cli.options import HELP, Argument, Parameter, WrongCall, parameters

SHELLS: Final = ("bash", "zsh", "fish")


def completion_command(
    shell: Annotated[str, Argument(metavar="SHELL", help=f"{', '.join(SHELLS[:-1])} or {SHELLS[-1]}.")],
) -> None:
    """Print a script with which a shell completes commands, options and files.

    Examples:

      eval "$(xcast completion bash)"                 # in ~/.bashrc

      eval "$(xcast completion zsh)"                  # in ~/.zshrc, after compinit

      xcast completion fish | source                  # in ~/.config/fish/config.fish
    """
    from xstreamcast.cli import COMMANDS, find_command
    from xstreamcast.cli.help import paragraphs

    if shell not in SHELLS:
        raise WrongCall(f"SHELL is one of {', '.join(SHELLS)}, not {shell!r}")
    commands = {name: find_command(name) for name in COMMANDS}
    told = {name: paragraphs(command)[0] for name, command in commands.items()}
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands, told))


Commands = dict[str, Callable[..., None]]


def _options(command: Callable[..., None]) -> list[Parameter]:
    return [one for one in parameters(command) if one.names]


def _names(one: Parameter) -> list[str]:
    return [*one.names, *([one.off] if one.off else [])]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _bash(commands: Commands, told: dict[str, str]) -> str:
    known = "\n".join(
        f"    {name}) options={_quoted(' '.join([n for one in _options(command) for n in _names(one)] + [*HELP]))} ;;"
        for name, command in commands.items()
    )
    return f"""_xcast() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" options=
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W {_quoted(" ".join([*commands, "--version", *HELP]))} -- "$word"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{known}
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -o bashdefault -F _xcast xcast"""


def _zsh(commands: Commands, told: dict[str, str]) -> str:
    listed = "\n".join(f"      {_quoted(f'{name}:{text}')}" for name, text in told.items())
    known = "\n".join(
        f"    {name}) _arguments '*:file:_files' {' '.join(_zsh_option(one) for one in _options(command))} ;;"
        for name, command in commands.items()
    )
    return f"""_xcast() {{
  if (( CURRENT == 2 )); then
    local -a commands=(
{listed}
    )
    _describe command commands
    return
  fi
  case $words[2] in
{known}
  esac
}}
compdef _xcast xcast"""


def _zsh_option(one: Parameter) -> str:
    about = one.declared.help.replace("[", "(").replace("]", ")")
    taken = "" if one.flag else f":{one.metavar.replace(':', ' ')}:_files"
    more = "*" if one.many else ""
    return " ".join(_quoted(f"{more}{name}[{about}]{taken}") for name in _names(one))


def _fish(commands: Commands, told: dict[str, str]) -> str:
    lines = [
        f"complete -c xcast -n __fish_use_subcommand -f -a {name} -d {_quoted(text)}" for name, text in told.items()
    ]
    for name, command in commands.items():
        for one in _options(command):
            for option in _names(one):
                flag = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
                taken = "" if one.flag else " -r"
                about = _quoted(one.declared.help)
                lines.append(f"complete -c xcast -n '__fish_seen_subcommand_from {name}' {flag}{taken} -d {about}")
    return "\n".join(lines)
