"""`daybook keys`, `seal`, `verify` and `prove`: a closed period as a file that anybody can verify."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import completion
from daybook.cli.arguments import AsJson
from daybook.cli.command_help import add_command
from daybook.cli.exit_codes import FAILED
from daybook.cli.open_workspace import open_workspace, open_workspace_with_spark, with_proof
from daybook.cli.root_options import root_options
from daybook.cli.terminal import console, echo, echo_json, echo_marked, echo_note, shorten_path, show_table, text_width

if TYPE_CHECKING:
    from daybook.definitions.loading.loaded_workspace import WorkspaceLocation
    from daybook.proof.verification import Verification
    from daybook.workspace.certificates import PeriodSeal

_SHOWN_DIGITS = 12
keys_app = typer.Typer(
    help="Make keys that certificates are signed with.",
    short_help="Make keys that certificates are signed with",
    epilog="""\b
Examples:
  daybook keys new controlling --out keys""",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def new_key(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who signs with it, for example controlling.")],
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where both files are written.")],
    as_json: AsJson = False,
) -> None:
    """Make an Ed25519 key: NAME.key, which signs, and NAME.pub, which verifies.

    NAME.key is readable by its owner only; keep it where only the people who seal can read it. NAME.pub is for
    everybody; auditors should get it by another channel than the certificates.
    """
    from daybook.workspace.certificates import make_key

    key = make_key(name, out)
    if as_json:
        echo_json(key)
        return
    echo(f"{key.private_key}  signs; keep it secret")
    echo(f"{key.public_key}  verifies; give it to whoever audits")


add_command(keys_app, "new", new_key, "daybook keys new controlling --out keys")


def seal(
    context: typer.Context,
    period: Annotated[
        str,
        typer.Argument(metavar="PERIOD", help="A locked period.", autocompletion=completion.period_identifiers),
    ],
    key: Annotated[str, typer.Option("--key", metavar="REFERENCE", help="The private key: file://PATH or env://NAME.")],
    out: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The certificate.")],
    accept_stale: Annotated[
        list[str] | None,
        typer.Option(
            "--accept-stale",
            metavar="NODE",
            help="Seal a locked PROJECT or PROJECT@PERIOD that is out of date; may be repeated.",
        ),
    ] = None,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Why that is accepted; the certificate says it.")
    ] = None,
    timestamp: Annotated[
        str | None, typer.Option("--timestamp", metavar="URL", help="A time stamping authority (RFC 3161).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Sign the outputs of a locked period, and what they were computed from.

    Every active project has to be fresh for its periods inside of PERIOD. The certificate follows that of the period
    before; `daybook verify` verifies it anywhere. Where the policy needs approval, the first call makes a request, and
    the same call seals once it is released.
    """
    from daybook.workspace.certificates import seal_period

    with open_workspace_with_spark(context) as workspace:
        sealed = with_proof(
            workspace,
            lambda proven: seal_period(
                proven, period, key=key, out=out, accept_stale=accept_stale or (), reason=reason, timestamp=timestamp
            ),
        )
    if as_json:
        echo_json(sealed)
    else:
        _show_seal(sealed, is_quiet=root_options(context).is_quiet)


def _show_seal(sealed: "PeriodSeal", *, is_quiet: bool) -> None:
    echo(f"{sealed.period} is sealed by {sealed.sealed_by}: {sealed.file}")
    if is_quiet:
        return
    show_table(
        ("output", "rows", "digest"),
        [
            (subject.name, "" if subject.rows is None else f"{subject.rows:,}", _short(subject.digest))
            for subject in sealed.subjects
        ],
        right=(1,),
    )
    if sealed.not_covered:
        echo(f"not covered, since they run for longer periods: {', '.join(sealed.not_covered)}")
    for stale in sealed.accepted_stale:
        echo(f"sealed though it is out of date: {stale.node} ({stale.reason})")
    if sealed.follows is not None:
        echo(f"follows the certificate {_short(sealed.follows)}")
    if sealed.replaces is not None:
        echo(f"replaces the certificate {_short(sealed.replaces)}")
    echo(f"certificate {sealed.digest}")


def _short(digest: str) -> str:
    name, separator, digits = digest.rpartition(":")
    return f"{name}{separator}{digits[:_SHOWN_DIGITS]}…"


def verify(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE", help="Certificates or proofs; those of several periods are verified as a chain."
        ),
    ],
    key: Annotated[Path | None, typer.Option("--key", metavar="PUBLIC", help="The public key that is trusted.")] = None,
    period: Annotated[
        str | None, typer.Option("--period", "-p", metavar="PERIOD", help="The period that it has to be about.")
    ] = None,
    data: Annotated[bool, typer.Option("--data", help="Read the tables and files, and compare their rows.")] = False,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Compute every run again from its sources, in plain Python.")
    ] = False,
    authorities: Annotated[
        Path | None,
        typer.Option("--authority", metavar="PEM", help="Require a time stamp of these authorities."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify certificates and proofs: signature, content and chain; needs no store and no Spark.

    The trusted keys are --key, else the `signers` of the workspace that --workspace names, never keys inside of a file.
    Ends with 0 if every check holds, 1 if not, and 2 for a file that is no certificate.
    """
    from daybook.workspace.certificates import VerifyRequest, verify_certificates

    request = VerifyRequest(
        files=tuple(files), key=key, period=period, data=data, recompute=recompute, authorities=authorities
    )
    named = open_workspace(context) if root_options(context).workspace is not None else None
    around: WorkspaceLocation | None = None
    if named is None and (data or recompute):
        around = open_workspace(context)
    verifications = verify_certificates(request, named=named, around=around)
    for verification in verifications:
        if as_json:
            echo_json(verification)
        else:
            show_verification(verification, is_quiet=root_options(context).is_quiet)
    if not all(verification.is_valid for verification in verifications):
        raise typer.Exit(FAILED)


def show_verification(verification: "Verification", *, is_quiet: bool) -> None:
    """Show the result for a file, problems first."""
    close = verification.certificate.close
    mark, color = ("valid", typer.colors.GREEN) if verification.is_valid else ("NOT VALID", typer.colors.RED)
    what = f"{verification.period} of {close.workspace.name}"
    if verification.proof is not None:
        what = f"a row of {verification.proof.subject}"
    signer = f"signed by {verification.signer}" if verification.signer else "signed by nobody who is trusted"
    file, signed = shorten_path(str(verification.file)), f"{what}, {signer}"
    is_narrow = text_width(f"{mark}  {file}: {signed}") > console().width
    echo_marked(mark, color, f"{file}:\n    {signed}" if is_narrow else f"{file}: {signed}")
    for problem in verification.problems:
        echo(f"    {problem}")
    if is_quiet:
        return
    if verification.proof is not None:
        pairs = zip(verification.proof.columns, verification.proof.row, strict=True)
        echo("    " + ", ".join(f"{column.name} = {'NULL' if text is None else text}" for column, text in pairs))
    echo(f"    sealed by {close.sealed_by} at {close.sealed_at:%Y-%m-%d %H:%M} UTC")
    if verification.stamped_at is not None:
        echo(f"    time stamp {verification.stamped_at:%Y-%m-%d %H:%M} UTC; --authority verifies whose")
    if close.previous is not None:
        echo(f"    follows {close.previous.period}, certificate {_short(close.previous.payload)}")
    else:
        echo(f"    follows none: {close.previous_reason}")
    if close.replaces is not None:
        echo(f"    replaces the certificate {_short(close.replaces.payload)}")
    if verification.replaced_by is not None:
        echo(f"    replaced by the certificate {_short(verification.replaced_by)}")
    if close.not_covered:
        echo(f"    not covered: {', '.join(close.not_covered)}")
    for stale in close.accepted_stale:
        echo(f"    sealed though it was out of date: {stale.node} ({stale.reason})")
    if verification.subjects:
        show_table(
            ("output", "data", "recomputed", "digest"),
            [
                (subject.name, subject.data, subject.recomputed, _short(subject.digest.rpartition(":")[2]))
                for subject in verification.subjects
            ],
        )


def prove(
    context: typer.Context,
    certificate: Annotated[Path, typer.Argument(metavar="CERTIFICATE", help="The file that `daybook seal` wrote.")],
    output: Annotated[str, typer.Argument(metavar="OUTPUT", help="An output, as `daybook verify` lists it.")],
    keys: Annotated[
        list[str], typer.Argument(metavar="COLUMN=VALUE", help="Values that only the row has; NULL is COLUMN=.")
    ],
    out: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The proof.")],
    as_json: AsJson = False,
) -> None:
    """Prove that one row is among the sealed rows of an output, without showing the others.

    The proof holds the row, hashes of other rows, and the whole certificate. `daybook verify` verifies it.
    """
    from daybook.runs.explain.row_origins import parse_keys
    from daybook.workspace.certificates import prove_row

    proof = prove_row(open_workspace(context), certificate, output, parse_keys(keys), out=out)
    if as_json:
        echo_json(proof)
        return
    echo(f"{proof.file} proves a row of {proof.output}")
    if not root_options(context).is_quiet:
        echo(", ".join(f"{name} = {'NULL' if text is None else text}" for name, text in proof.row.items()))
        echo_note(f"it shows the hashes of {proof.other_rows:,} other rows, and the whole certificate")
