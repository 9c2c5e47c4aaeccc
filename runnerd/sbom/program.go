package sbom

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"strings"
)

// program returns the modules of a program that was written in Go, and nothing for another.
func (i *Inventory) program(size int64, content io.Reader) file {
	start := make([]byte, len(elf.ELFMAG))
	if _, err := io.ReadFull(content, start); err != nil || string(start) != elf.ELFMAG {
		return file{}
	}
	if size > maxExecutable {
		return file{unread: "a program of more than 512 MiB"}
	}
	stored, err := i.spool(start, content)
	if err != nil {
		return file{unread: "a program, for which there is no space in " + i.dir}
	}
	defer func() { _ = stored.Close() }()
	info, err := buildInfo(stored)
	switch {
	case errors.Is(err, errNoGo):
		return file{}
	case err != nil:
		return file{unread: "a Go program whose list of modules " + err.Error()}
	}
	made := []found{{ecosystem: golang, Name: "stdlib", Version: release(info.GoVersion)}}
	if info.Main.Path != "" {
		made = append(made, moduleOf(&info.Main))
	}
	for _, module := range info.Deps {
		made = append(made, moduleOf(module))
	}
	return checked(made)
}

// spool stores the start that was read of a file, and the rest of it, in a temporary file.
func (i *Inventory) spool(start []byte, rest io.Reader) (*os.File, error) {
	stored, err := os.CreateTemp(i.dir, "program-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(stored.Name()) // it exists as long as it is open
	if _, err = stored.Write(start); err == nil {
		_, err = io.Copy(stored, rest)
	}
	if err != nil {
		_ = stored.Close()
		return nil, err
	}
	return stored, nil
}

// Why there is no list of modules.
var (
	errNoGo      = errors.New("no Go program")
	errOldGo     = errors.New("is in the form before Go 1.18")
	errDamagedGo = errors.New("is damaged, or has more than 1 MiB")
)

// The section with the build info: after a header of infoHeader bytes, whose flags say that the text is in the
// section itself, two texts with their lengths. Source: the package debug/buildinfo of Go, which reads it without a
// limit.
const (
	infoSection = ".go.buildinfo"
	infoMagic   = "\xff Go buildinf:"
	infoHeader  = 32
	infoFlags   = 15
	infoInline  = 2
	infoQuote   = 16 // bytes around the list of modules
)

// buildInfo reads which modules a program consists of.
func buildInfo(program io.ReaderAt) (info *debug.BuildInfo, err error) {
	defer func() {
		if recover() != nil { // debug/elf does not promise to withstand any input
			info, err = nil, errDamagedGo
		}
	}()
	parsed, err := elf.NewFile(program)
	if err != nil {
		return nil, errNoGo
	}
	section := parsed.Section(infoSection)
	if section == nil {
		return nil, errNoGo
	}
	if section.ReaderAt == nil || section.FileSize > maxBuildInfo || section.Flags&elf.SHF_COMPRESSED != 0 {
		return nil, errDamagedGo
	}
	content, err := io.ReadAll(io.NewSectionReader(section, 0, maxBuildInfo)) //nolint:gosec // bounded above
	if err != nil || len(content) < infoHeader || !bytes.HasPrefix(content, []byte(infoMagic)) {
		return nil, errDamagedGo
	}
	if content[infoFlags]&infoInline == 0 {
		return nil, errOldGo
	}
	version, rest, ok := cutText(content[infoHeader:])
	modules, _, has := cutText(rest)
	if !ok || !has {
		return nil, errDamagedGo
	}
	if len(modules) > 2*infoQuote {
		modules = modules[infoQuote : len(modules)-infoQuote]
	}
	if info, err = debug.ParseBuildInfo(string(modules)); err != nil {
		return nil, errDamagedGo
	}
	info.GoVersion = string(version)
	return info, nil
}

// cutText returns the text at the start, which follows its length, and what follows it.
func cutText(content []byte) (text, rest []byte, ok bool) {
	length, n := binary.Uvarint(content)
	if n <= 0 || length > uint64(len(content)-n) {
		return nil, nil, false
	}
	content = content[n:]
	return content[:length], content[length:], true
}

// moduleOf returns a module, or what replaces it. A directory that replaces it has no name that anybody knows.
func moduleOf(module *debug.Module) found {
	if by := module.Replace; by != nil {
		if by.Version == "" || by.Version == devel {
			return found{ecosystem: golang, Name: module.Path}
		}
		module = by
	}
	if module.Version == devel {
		return found{ecosystem: golang, Name: module.Path}
	}
	return found{ecosystem: golang, Name: module.Path, Version: module.Version}
}

// devel is the version of a module that was built from a directory.
const devel = "(devel)"

// release returns the version of Go without the experiments that may follow it.
func release(of string) string {
	number, _, _ := strings.Cut(strings.TrimPrefix(of, "go"), " ")
	return number
}
