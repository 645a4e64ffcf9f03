"""Codes of the log of acts, and of approvals by other people."""

from daybook.errors.codes.entry import Code, code_family

LOG_CODES: dict[str, Code] = code_family(
    Code(
        "LOG_001",
        "Line {number} of the log cannot be read",
        "Somebody changed the line by writing into the database. `daybook log --verify` shows every place where the "
        "log was changed.",
        hint="`daybook log --verify` shows what was changed; compare with a backup of the store",
    ),
    Code(
        "LOG_002",
        "{text} is not the digest of a line of the log",
        "The digest of a head has 64 hexadecimal digits. `daybook log` shows it, and a certificate of a sealed period "
        "holds it.",
        hint="give the digest as `daybook log` shows it",
    ),
    Code(
        "LOG_003",
        "The log cannot be continued: its head is gone or was changed",
        "The head names the last line. Somebody changed it by writing into the database; what cannot be logged is not "
        "done.",
        hint="`daybook log --verify` shows what was changed; restore a backup of the store",
    ),
)

APPROVAL_CODES: dict[str, Code] = code_family(
    Code(
        "APPROVAL_001",
        "Request {number} was made: {act} {subject} needs the approval of {needs}",
        "The policy in force says that other people approve the act first. Nothing was done yet. `activate`, `lock`, "
        "`reopen`, `people` and `policy` happen with the last approval; `drop`, `seal` and `take-over` are then done "
        "by the same command again.",
        hint="others see it with `daybook requests {number}` and decide with `daybook approve {number}`",
    ),
    Code(
        "APPROVAL_002",
        "{name} is only a name: what needs approval needs proof of who you are",
        "Names of users can be set by anybody, and tokens of groups belong to several people. A personal token, or an "
        "account that is bound to a person on an embedded store, proves who requests and who approves.",
        hint="set DAYBOOK_TOKEN to your personal token; `daybook people add NAME` makes one",
    ),
    Code(
        "APPROVAL_003",
        "Request {number} is {name}'s own: somebody else must decide about it",
        "A request must be approved or rejected by another person than its requester.",
        hint="`daybook withdraw {number}` takes the request back",
    ),
    Code(
        "APPROVAL_004",
        "{name} has decided about request {number} already",
        "One person counts once, whatever roles the person has.",
        hint="`daybook requests {number}` shows whose approval is missing",
    ),
    Code(
        "APPROVAL_005",
        "{name} has none of the roles that decide about request {number}: {roles}",
        "The policy in force names the roles whose approval counts for the act.",
        hint="ask somebody with one of these roles; `daybook people` lists them",
    ),
    Code(
        "APPROVAL_006",
        "Request {number} cannot be {action}: it is {status}",
        "A request ends with the last approval, a rejection, its withdrawal, or when what it would change has changed.",
        hint="`daybook requests {number}` shows how it ended; make a new request if it is still needed",
    ),
    Code(
        "APPROVAL_007",
        "There is no request {number}",
        "Requests are numbered from 1 in the order in which they were made.",
        hint="`daybook requests --all` lists them",
    ),
    Code(
        "APPROVAL_008",
        "Request {number} is void: {act} {subject} would no longer do what was asked for",
        "A request is bound to what it would change by a digest. Since it was made, a definition, a run inside the "
        "period, a person or the policy has changed.",
        hint="repeat the act, which makes a new request",
    ),
    Code(
        "APPROVAL_009",
        "{project} is not activated, and drafts run only into a sandbox here",
        "The policy in force says that activating needs approval. What nobody has approved may not write to the "
        "destinations of the workspace.",
        hint="set `sandbox:` in daybook.yaml, or request the approval with `daybook activate {project}`",
    ),
    Code(
        "APPROVAL_010",
        "The change of {kind} {id} is not in force: an active project reads it, and nobody has approved the change",
        "Where activating needs approval, changes of what active projects compute are stored with a request and used "
        "when it is approved. Until then runs use what was in force before.",
        hint="`daybook apply` requests the approval",
    ),
    Code(
        "APPROVAL_011",
        "Nobody could satisfy the rule for {rule}: it needs {count} of {roles} beside the requester, and {able} exist",
        "A policy that nobody can satisfy could never be changed again.",
        hint="add people with the roles first: `daybook people add NAME --role ROLE`",
    ),
    Code(
        "APPROVAL_012",
        "daybook.yaml proposes no policy",
        "The policy in force stays in force when the file no longer has it. An empty block, `approvals: {}`, "
        "proposes that nothing needs approval.",
        hint="write `approvals:` into daybook.yaml, or `approvals: {{}}` to end it",
    ),
    Code(
        "APPROVAL_013",
        "There is a person {name} already",
        "A person has one name and one token.",
        hint="`daybook people renew {name}` gives a new token, `daybook people roles {name}` other roles",
    ),
    Code(
        "APPROVAL_014",
        "There is no person {name}",
        "People are known by the name with which they were added.",
        hint="`daybook people` lists them",
    ),
    Code(
        "APPROVAL_015",
        "Account {account} belongs to {name}",
        "An account of the operating system can prove one person only.",
        hint="use another account, or a token",
    ),
    Code(
        "APPROVAL_016",
        "{name} cannot be the name of a person",
        "A name has up to 128 letters, digits, spaces, dots, hyphens and @, and begins with a letter or digit.",
        hint="use a name such as anna or anna.berg@example.com",
    ),
    Code(
        "APPROVAL_017",
        "An account cannot prove who {name} is on a shared store",
        "The administrator of a machine can choose the numbers of its accounts. On PostgreSQL a person is "
        "identified by a personal token.",
        hint="leave out --account: a token is printed instead",
    ),
    Code(
        "APPROVAL_018",
        "Request {number} was made by {name}: nobody else can withdraw it",
        "Others reject a request, with a reason.",
        hint="`daybook reject {number} --reason ...`",
    ),
    Code(
        "APPROVAL_019",
        "Request {number} is being carried out by process {pid} on {host}",
        "What is released is done once.",
        hint="wait until it has ended; `daybook requests {number}` shows the state",
    ),
    Code(
        "APPROVAL_021",
        "The sandbox {sandbox} lies where live data is: a draft would write to {output} there",
        "Where activating needs approval, drafts write only below a folder that holds no table and no file of a data "
        "source. Otherwise a draft could replace what others have approved.",
        hint="set `sandbox:` in daybook.yaml to a folder of its own",
    ),
    Code(
        "APPROVAL_022",
        "Run {run_id} used version {version} of {project}, which is not active any more",
        "The policy in force says that activating needs approval. A failed run continues with the definitions that it "
        "began with; another version was approved since, or the project was deactivated.",
        hint="run the project again",
    ),
    Code(
        "APPROVAL_020",
        "The personal token is wrong or was replaced",
        "A token is void once it is renewed or its person is removed.",
        hint="check DAYBOOK_TOKEN; `daybook people renew NAME` gives a new token",
    ),
)
