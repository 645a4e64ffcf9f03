"""Codes of keys, certificates and proofs."""

from daybook.errors.codes.entry import Code, code_family

PROOF_CODES: dict[str, Code] = code_family(
    Code(
        "PROOF_001",
        "{file} is no certificate and no proof: {reason}",
        "`daybook verify` reads the files that `daybook seal` and `daybook prove` write. A file that is cut off, too "
        "large or of another kind is refused before its content is used.",
        hint="get the file again from the person who sealed the period",
    ),
    Code(
        "PROOF_002",
        "{file} holds no {kind} key: {reason}",
        "Certificates are signed with Ed25519. A private key is PKCS#8 in PEM without a password, a public key PEM.",
        hint="`daybook keys new NAME --out FOLDER` writes both",
    ),
    Code(
        "PROOF_003",
        "{file} exists already",
        "Keys and certificates are never overwritten: a certificate that was handed out could no longer be verified.",
        hint="use another name or another folder",
    ),
    Code(
        "PROOF_004",
        "{period} cannot be sealed: {nodes} {verb} not locked",
        "Only a locked period can be sealed, so that its numbers cannot change afterwards.",
        hint="`daybook periods lock {period}`",
    ),
    Code(
        "PROOF_005",
        "{period} cannot be sealed: {problems}",
        "Every project has to be fresh for the period: completed, with the data and definitions that a run would use "
        "now. A locked node that is out of date is sealed only with `--accept-stale`, which the certificate says.",
        hint="`daybook build --period {period}`; for a locked node `--accept-stale NODE --reason TEXT`",
    ),
    Code(
        "PROOF_006",
        "--accept-stale {node}: {reason}",
        "What is accepted is written into the certificate with its reason, so it has to be a node that is out of date.",
        hint="NODE is PROJECT or PROJECT@PERIOD, as `daybook status` shows them",
    ),
    Code(
        "PROOF_007",
        "Nothing can be sealed for {period}: {reason}",
        "A period is sealed as `daybook build --period` takes it: every active project, for its periods inside it.",
        hint="`daybook status --period {period}` shows what there is",
    ),
    Code(
        "PROOF_008",
        "{output} has {found:,} rows, and its run wrote {written:,}",
        "Another program has changed the table since. Sealing it would certify rows that no run computed.",
        hint="`daybook build` computes the output again, once the period is open",
    ),
    Code(
        "PROOF_009",
        "No time stamp from {url}: {reason}",
        "A time stamp of RFC 3161 confirms that the signature existed at a time. Without it the period is not sealed.",
        hint="try again, use another authority, or seal without `--timestamp`",
    ),
    Code(
        "PROOF_010",
        "{file} holds no certificate of a time stamping authority: {reason}",
        "`--authority` names the certificates, in PEM, of the authorities whose time stamps are trusted.",
    ),
    Code(
        "PROOF_011",
        "The certificate has no output {output} with a digest of rows",
        "An output is named as `daybook verify` lists it, or by the part after the colon.",
    ),
    Code(
        "PROOF_012",
        "In {output} {count} these values",
        "A proof is about one row. Rows that are equal in every column count as one.",
        hint="give the values of a key, as COLUMN=VALUE",
    ),
    Code(
        "PROOF_013",
        "The rows of {output} are not those that were sealed",
        "A proof leads from a row to the digest in the certificate. Other rows do not lead to that digest.",
        hint="`daybook verify --data` shows which outputs differ",
    ),
    Code(
        "PROOF_014",
        "The certificate of {period} would have {size:,} {unit}, and `daybook verify` reads at most {limit:,}",
        "A certificate holds the whole snapshot of every run.",
        hint="seal shorter periods",
    ),
    Code(
        "PROOF_015",
        "{period} changed while it was sealed: {reason}",
        "A project was run, or the period was reopened or sealed, between reading the outputs and signing them.",
        hint="seal it again",
    ),
    Code(
        "PROOF_016",
        "{name} cannot be the name of a key",
        "The name is that of two files. It has letters, digits, dots, hyphens and underscores, and begins with a "
        "letter or a digit.",
        hint="for example the role that signs: controlling",
    ),
    Code(
        "PROOF_017",
        "There is no certificate {digest} in the store",
        "A certificate is named by the SHA-256 of its payload.",
        hint="the page of the period, and `/api/v1/seals`, list them",
    ),
    Code(
        "PROOF_018",
        "{file} cannot be written: {reason}",
        "The folder is created where it does not exist. Nothing is signed before it is known that the file can be "
        "written, and nothing is recorded without the file.",
        hint="write it to another folder",
    ),
)
