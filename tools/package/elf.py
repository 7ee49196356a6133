"""Reads ELF files of 64 bits and archives of them: what hardening_test.py and sbom.py ask.

Sources: System V ABI, chapters 4 and 5; the x86-64 psABI (program property notes); DWARF 5 and the LSB for .eh_frame_hdr.
"""
import struct

ET_REL, ET_DYN = 1, 3
EM_X86_64 = 62
PT_LOAD, PT_DYNAMIC, PT_GNU_EH_FRAME, PT_GNU_STACK, PT_GNU_RELRO = 1, 2, 0x6474E550, 0x6474E551, 0x6474E552
PF_X, PF_W = 1, 2
SHT_SYMTAB, SHT_NOTE, SHT_DYNSYM = 2, 7, 11
SHF_EXECINSTR = 4
DT_NEEDED, DT_STRTAB, DT_RPATH, DT_TEXTREL, DT_BIND_NOW, DT_RUNPATH, DT_FLAGS, DT_FLAGS_1 = 1, 5, 15, 22, 24, 29, 30, 0x6FFFFFFB
DF_BIND_NOW, DF_1_NOW, DF_1_PIE = 8, 1, 0x08000000
NT_GNU_PROPERTY_TYPE_0, X86_FEATURE_1_AND, X86_IBT_AND_SHSTK = 5, 0xC0000002, 3


class Elf:
    """One file. `data` must begin with an ELF header of 64 bits, little-endian; ValueError otherwise."""

    def __init__(self, data):
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("found no ELF header of 64 bits, little-endian")
        self.data = data
        self.kind, self.machine = struct.unpack_from("<HH", data, 16)
        segments, sections = struct.unpack_from("<QQ", data, 32)
        segment_size, segment_count, section_size, section_count, names = struct.unpack_from("<HHHHH", data, 54)
        # Segments: (type, flags, offset, address, size in the file); sections: (name, type, flags, offset, size, link, alignment).
        self.segments = []
        for i in range(segment_count):
            kind, flags, offset, address, _, size = struct.unpack_from("<IIQQQQ", data, segments + i * segment_size)
            self.segments.append((kind, flags, offset, address, size))
        raw = [struct.unpack_from("<IIQQQQIIQQ", data, sections + i * section_size) for i in range(section_count)]
        self.sections = [(self._text(raw[names][4] + s[0]), s[1], s[2], s[4], s[5], s[6], s[8]) for s in raw]

    def _text(self, offset):
        return self.data[offset:self.data.index(b"\0", offset)].decode()

    def segments_of(self, kind):
        return [segment for segment in self.segments if segment[0] == kind]

    def dynamic(self):
        """{tag: values} of the dynamic section."""
        found = {}
        for _, _, offset, _, size in self.segments_of(PT_DYNAMIC):
            for tag, value in struct.iter_unpack("<qQ", self.data[offset:offset + size]):
                found.setdefault(tag, []).append(value)
                if tag == 0:
                    break
        return found

    def at(self, address):
        """The offset in the file of what is loaded at that address."""
        for _, _, offset, start, size in self.segments_of(PT_LOAD):
            if start <= address < start + size:
                return offset + address - start
        raise ValueError(f"no segment has address {address:#x}")

    def dynamic_texts(self, tag):
        """The names of the dynamic entries of that tag: DT_NEEDED, DT_RPATH, DT_RUNPATH."""
        dynamic = self.dynamic()
        return [self._text(self.at(dynamic[DT_STRTAB][0]) + value) for value in dynamic.get(tag, [])]

    def undefined(self):
        """Names of the symbols that others must define."""
        names = set()
        for _, kind, _, offset, size, link, _ in self.sections:
            if kind not in (SHT_SYMTAB, SHT_DYNSYM):
                continue
            texts = self.sections[link][3]
            for name, _, _, index, _, _ in struct.iter_unpack("<IBBHQQ", self.data[offset:offset + size]):
                if index == 0 and name:
                    names.add(self._text(texts + name))
        return names

    def has_code(self):
        return any(flags & SHF_EXECINSTR and size for _, _, flags, _, size, _, _ in self.sections)

    def x86_features(self):
        """The bits that all of its code keeps: 1 IBT, 2 SHSTK."""
        for name, kind, _, offset, size, _, alignment in self.sections:
            if name != ".note.gnu.property" or kind != SHT_NOTE:
                continue
            step = max(alignment, 4)
            names, length, note = struct.unpack_from("<III", self.data, offset)
            at = offset + 12 + -(-names // 4) * 4
            end = min(at + length, offset + size) if note == NT_GNU_PROPERTY_TYPE_0 else at
            while at + 8 <= end:
                property_kind, property_size = struct.unpack_from("<II", self.data, at)
                if property_kind == X86_FEATURE_1_AND:
                    return struct.unpack_from("<I", self.data, at + 8)[0]
                at += 8 + -(-property_size // step) * step
        return 0

    def functions(self):
        """Offsets in the file where functions begin, as the table for unwinding has them (encoding 0x3b: relative to it)."""
        for _, _, offset, address, _ in self.segments_of(PT_GNU_EH_FRAME):
            version, _, count_encoding, table_encoding = self.data[offset:offset + 4]
            if (version, count_encoding, table_encoding) != (1, 0x03, 0x3B):
                raise ValueError("an .eh_frame_hdr of another encoding")
            count = struct.unpack_from("<I", self.data, offset + 8)[0]
            table = struct.iter_unpack("<ii", self.data[offset + 12:offset + 12 + 8 * count])
            return [self.at(address + start) for start, _ in table]
        return []


def members(data):
    """(name, content) of each file in an archive of ar, without its tables; thin archives are refused."""
    if data[:8] != b"!<arch>\n":
        raise ValueError("found no archive")
    at, long_names = 8, b""
    while at + 60 <= len(data):
        name, size = data[at:at + 16].decode().rstrip(), int(data[at + 48:at + 58])
        content = data[at + 60:at + 60 + size]
        at += 60 + size + size % 2
        if name == "//":
            long_names = content
        elif name not in ("/", "/SYM64/"):
            if name[0] == "/":
                begin = int(name[1:])
                name = long_names[begin:long_names.index(b"\n", begin)].decode()
            yield name.rstrip("/"), content


def stamps(data):
    """What an archive says of times and owners: all zero where ar was deterministic."""
    at = 8
    while at + 60 <= len(data):
        yield tuple(int(data[at + begin:at + end] or b"0") for begin, end in ((16, 28), (28, 34), (34, 40))
                    if data[at + begin:at + end].strip())
        size = int(data[at + 48:at + 58])
        at += 60 + size + size % 2
