"""Requests to S3 that neither pyarrow nor deltalake makes: unfinished uploads, and puts that must be the first.

They are made by botocore, which the extra `s3` installs.
"""

import contextlib
import datetime
import uuid
from collections.abc import Iterator
from typing import Any

from daybook.errors import DaybookError
from daybook.io.filesystem import FileStat
from daybook.io.storage import Bucket, Storage

_CONNECT_SECONDS = 5
_REQUEST_SECONDS = 30
_CONDITION_FAILED = (409, 412)


def _client(bucket: Bucket) -> Any:
    """A client for the bucket; None for other stores than S3 and where botocore is not installed."""
    if bucket.scheme != "s3":
        return None
    try:
        from botocore.config import Config
        from botocore.session import Session
    except ModuleNotFoundError:
        return None
    key, options = bucket.key(), bucket.settings.options
    key_arguments: dict[str, Any] = {}
    if key is not None:
        key_arguments = {
            "aws_access_key_id": key.id,
            "aws_secret_access_key": key.secret,
            "aws_session_token": key.token,
        }
    config = Config(
        s3={"addressing_style": "path" if bucket.is_path_style else "virtual"},
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_REQUEST_SECONDS,
    )
    region = options.region or ("us-east-1" if options.endpoint else None)
    return Session().create_client(
        "s3", endpoint_url=options.endpoint, region_name=region, config=config, **key_arguments
    )


@contextlib.contextmanager
def _translated_failures(location: str) -> Iterator[None]:
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (BotoCoreError, ClientError) as failure:
        raise DaybookError("IO_073", location=location, reason=str(failure)) from None


def remove_unfinished_uploads(
    uri: str, storage: Storage, *, begun_before_ns: int, is_dry_run: bool
) -> Iterator[FileStat]:
    """Removes multipart uploads below a place that were never completed: their parts are paid for."""
    bucket = storage.bucket(uri)
    client = _client(bucket) if bucket is not None else None
    if bucket is None or client is None:
        return
    prefix = uri[len(bucket.address) + 1 :].rstrip("/") + "/"
    with _translated_failures(uri):
        pages = client.get_paginator("list_multipart_uploads").paginate(Bucket=bucket.name, Prefix=prefix)
        for upload in [upload for page in pages for upload in page.get("Uploads", ())]:
            begun: datetime.datetime = upload["Initiated"]
            begun_ns = int(begun.timestamp() * 1_000_000_000)
            if begun_ns >= begun_before_ns:
                continue
            if not is_dry_run:
                client.abort_multipart_upload(Bucket=bucket.name, Key=upload["Key"], UploadId=upload["UploadId"])
            yield FileStat(f"{bucket.address}/{upload['Key']}", 0, begun_ns)


def check_conditional_puts(uri: str, storage: Storage) -> bool:
    """Whether conditional puts were checked, which needs botocore; IO_074 where the store ignores the condition."""
    bucket = storage.bucket(uri)
    client = _client(bucket) if bucket is not None else None
    if bucket is None or client is None:
        return False
    from botocore.exceptions import ClientError

    key = f"{uri[len(bucket.address) + 1 :]}/.daybook-probe-{uuid.uuid4().hex}".lstrip("/")
    with _translated_failures(uri):
        client.put_object(Bucket=bucket.name, Key=key, Body=b"", IfNoneMatch="*")
        try:
            client.put_object(Bucket=bucket.name, Key=key, Body=b"", IfNoneMatch="*")
        except ClientError as refusal:
            if refusal.response["ResponseMetadata"]["HTTPStatusCode"] in _CONDITION_FAILED:
                return True
            raise
        finally:
            client.delete_object(Bucket=bucket.name, Key=key)
    raise DaybookError("IO_074", location=bucket.address)
