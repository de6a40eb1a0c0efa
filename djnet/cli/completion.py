"""Completion of words for bash and zsh, from the options that there are: eval "$(djnet completion)"."""

from collections.abc import Sequence

from djnet.cli import options

_SCRIPT = """\
[ -n "${{ZSH_VERSION:-}}" ] && autoload -U +X bashcompinit && bashcompinit
_djnet() {{
  local words=""
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  [ "$COMP_CWORD" = 1 ] && words="{commands} --version --help"
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -o bashdefault -F _djnet djnet"""


def main(arguments: Sequence[str]) -> int:
    """Print the script."""
    options.completion().parse_args(arguments)
    print(script())
    return 0


def script() -> str:
    """A script that completes commands and options, and names of files elsewhere."""
    cases = []
    for name, parser in options.PARSERS.items():
        words = [word for action in parser()._actions for word in action.option_strings if word.startswith("--")]
        cases.append(f'    {name}) words="{" ".join(words)}" ;;')
    return _SCRIPT.format(cases="\n".join(cases), commands=" ".join(options.PARSERS))
