"""The `djnet` command."""

import argparse

import djnet


def main(arguments: list[str] | None = None) -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="djnet", description="Puts pieces of music in order.")
    parser.add_argument("--version", action="version", version=f"djnet {djnet.__version__}")
    parser.parse_args(arguments)
    parser.print_help()


if __name__ == "__main__":
    main()
