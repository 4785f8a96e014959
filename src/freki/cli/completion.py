"""`freki completion SHELL`: what a shell needs to complete commands and options."""

from importlib import import_module

from freki.cli.main import COMMANDS
from freki.cli.options import Parser
from freki.errors import BadInput

BASH = """\
_freki() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" words
    case "${{COMP_WORDS[1]}}" in
{cases}
        *) words="{commands}" ;;
    esac
    [ "$COMP_CWORD" -eq 1 ] && words="{commands}"
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    if [ "$COMP_CWORD" -gt 1 ] && [ -n "$word" ] && [ "${{word#-}}" = "$word" ]; then
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}}
complete -F _freki freki
"""

SHELLS = {
    "bash": 'eval "$(freki completion bash)"  in ~/.bashrc',
    "zsh": 'eval "$(freki completion zsh)"  in ~/.zshrc',
    "fish": "freki completion fish | source  in ~/.config/fish/config.fish",
}


def run(command: str, words: list[str]) -> int:
    print(script(parser(command).parse_args(words).shell), end="")
    return 0


def parser(command: str) -> Parser:
    """The options of `freki completion`."""
    examples = "\n".join(f"  {line}" for line in SHELLS.values())
    made = Parser(command, "Prints what a shell needs to complete Freki's commands.", examples)
    made.add_argument("shell", choices=list(SHELLS))
    return made


def script(shell: str) -> str:
    """The completion script of a shell."""
    flags = {name: _flags(name) for name in COMMANDS}
    match shell:
        case "bash":
            return _bash(flags)
        case "zsh":
            return "autoload -U +X bashcompinit && bashcompinit\n" + _bash(flags)
        case "fish":
            return _fish(flags)
        case _:
            raise BadInput(f"no completion for {shell!r}")


def _flags(command: str) -> list[str]:
    made: Parser = import_module(COMMANDS[command][0]).parser(command)
    return made.flags()


def _bash(flags: dict[str, list[str]]) -> str:
    cases = "\n".join(
        f'        {name}) words="{" ".join(words)}" ;;' for name, words in flags.items()
    )
    return BASH.format(cases=cases, commands=" ".join(flags))


def _fish(flags: dict[str, list[str]]) -> str:
    lines = [
        f"complete -c freki -n __fish_use_subcommand -f -a {name} -d '{what}'"
        for name, (_, what) in COMMANDS.items()
    ]
    lines += [
        f"complete -c freki -n '__fish_seen_subcommand_from {name}' -l {flag.removeprefix('--')}"
        for name, words in flags.items()
        for flag in words
        if flag.startswith("--")
    ]
    return "\n".join(lines) + "\n"
