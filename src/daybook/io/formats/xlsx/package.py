"""Reads the parts of a workbook file, a zip archive of XML documents, and does not trust its content."""

import io
import posixpath
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any
from xml.etree import ElementTree
from xml.parsers import expat

from daybook.errors import DaybookError

_BLOCK_BYTES = 1 << 18
# A part may grow to this size whatever it is compressed to; beyond it by the ratio that real sheets stay below.
_FREE_BYTES = 64 << 20
_MAX_RATIO = 200
_MAX_PARTS = 20_000
# No tag or text of a workbook is longer; a parser holds one at a time in memory.
_MAX_TOKEN_BYTES = 16 << 20
_MAX_TREE_BYTES = 64 << 20

_OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
_RELATIONSHIPS = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"

StartHandler = Callable[[str, dict[str, str]], object]
EndHandler = Callable[[str], object]
TextHandler = Callable[[str], object]


class Relationship:
    """What a part refers to: `kind` is the last word of its type, `target` the name of another part."""

    __slots__ = ("kind", "target")

    def __init__(self, kind: str, target: str) -> None:
        self.kind = kind
        self.target = target


class Package:
    """An open workbook file; everything that is wrong with it is IO_050 under the name `file`."""

    def __init__(self, stream: IO[bytes], file: str) -> None:
        self.file = file
        self.size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        try:
            self._archive = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as failure:
            raise self._not_an_archive(stream, failure) from failure
        if len(self._archive.filelist) > _MAX_PARTS:
            raise self.broken(f"it has {len(self._archive.filelist)} parts")
        # The names of parts are the same in every case.
        self._parts = {info.filename.lstrip("/").casefold(): info for info in self._archive.filelist}
        if "xl/workbook.bin" in self._parts:
            raise self.broken("it is a binary workbook (.xlsb)", "save it as .xlsx")
        if "mimetype" in self._parts and "content.xml" in self._parts:
            raise self.broken("it is an OpenDocument file", "save it as .xlsx")

    def close(self) -> None:
        self._archive.close()

    def broken(self, problem: str, hint: str | None = None) -> DaybookError:
        return DaybookError("IO_050", file=self.file, problem=problem, hint=hint)

    def has(self, part: str) -> bool:
        return part.casefold() in self._parts

    def relationships(self, part: str) -> Mapping[str, Relationship]:
        """By their ids, those of the part; of the package itself for the name ''."""
        folder, name = posixpath.split(part)
        document = posixpath.join(folder, "_rels", f"{name}.rels")
        links: dict[str, Relationship] = {}
        if not self.has(document):
            return links
        for element in self.tree(document).iter(_RELATIONSHIPS):
            if element.get("TargetMode") == "External":
                continue
            target = posixpath.normpath(posixpath.join("/", folder, element.get("Target", ""))).lstrip("/")
            links[element.get("Id", "")] = Relationship(element.get("Type", "").rpartition("/")[2], target)
        return links

    def tree(self, part: str) -> ElementTree.Element:
        """A small part as a whole."""
        builder = ElementTree.TreeBuilder()
        blocks = self.parse(
            part,
            lambda name, attributes: builder.start(_tree_name(name), _tree_attributes(attributes)),
            lambda name: builder.end(_tree_name(name)),
            builder.data,
            max_bytes=_MAX_TREE_BYTES,
        )
        for _ in blocks:
            pass
        return builder.close()

    def parse(
        self,
        part: str,
        start: StartHandler,
        end: EndHandler,
        text: TextHandler,
        *,
        max_bytes: int | None = None,
    ) -> Iterator[None]:
        """Hand a part to the handlers, a block with every step; names are `namespace name`."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = text
        # Without a document type there are no entities, so nothing can grow and nothing is fetched.
        parser.StartDoctypeDeclHandler = self._refuse_document_type
        fed = 0
        try:
            for block in self._blocks(part, max_bytes):
                parser.Parse(block, False)
                fed += len(block)
                if fed - max(parser.CurrentByteIndex, 0) > _MAX_TOKEN_BYTES:
                    raise self.broken(f"{part} has a tag of more than {_MAX_TOKEN_BYTES >> 20} MiB")
                yield
            parser.Parse(b"", True)
        except expat.ExpatError as failure:
            raise self.broken(f"{part} is not XML: {failure}") from failure
        yield

    def _refuse_document_type(self, *_: Any) -> None:
        raise self.broken("it declares a document type, which no spreadsheet program writes")

    def _blocks(self, part: str, max_bytes: int | None) -> Iterator[bytes]:
        info = self._parts.get(part.casefold())
        if info is None:
            raise self.broken(f"it has no part {part}")
        limit = max(_FREE_BYTES, _MAX_RATIO * info.compress_size)
        limit = limit if max_bytes is None else min(limit, max_bytes)
        size = 0
        try:
            with self._archive.open(info) as stream:
                while block := stream.read(_BLOCK_BYTES):
                    size += len(block)
                    if size > limit:
                        problem = f"{part} is larger than {limit >> 20} MiB when it is unpacked"
                        raise self.broken(problem, "open it in a spreadsheet program and save it again")
                    yield block
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as failure:
            raise self.broken(f"{part} is damaged: {failure}") from failure
        except (RuntimeError, NotImplementedError) as failure:
            # How the archive module says that a part is encrypted or compressed in a way it does not know.
            raise self.broken(f"{part} cannot be unpacked: {failure}") from failure

    def _not_an_archive(self, stream: IO[bytes], failure: Exception) -> DaybookError:
        stream.seek(0)
        start = stream.read(1 << 20)
        if not start.startswith(_OLE_MAGIC):
            return self.broken(f"it is not a zip archive ({failure})" if start else "it is empty")
        # The directory of such a file may stand anywhere in it.
        stream.seek(0, 2)
        stream.seek(max(0, stream.tell() - (1 << 20)))
        if _ENCRYPTED_STREAM in start or _ENCRYPTED_STREAM in stream.read():
            return self.broken("it is protected by a password", "remove the password (File, Info, Protect Workbook)")
        return self.broken("it is a workbook of Excel 97 to 2003 (.xls)", "save it as .xlsx")


def _tree_name(name: str) -> str:
    namespace, blank, local = name.rpartition(" ")
    return f"{{{namespace}}}{local}" if blank else local


def _tree_attributes(attributes: dict[str, str]) -> dict[str, str]:
    return {_tree_name(name): value for name, value in attributes.items()}
