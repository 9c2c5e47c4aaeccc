// Command prose checks how the repository's comments, docs and command-line texts read: phrases that a native reader
// stumbles over, names that no other project uses, and lines that are too wide. The list is in rules.go; why a word is
// on it is in docs/glossary.md.
//
//	go run ./examples/internal/prose [FILE…]
//
// It prints one line per finding (file:line: what was found, and what to write instead) and exits with 1 if there is
// any. Without arguments it checks every tracked file of the repository in the current directory. Generated files,
// testdata and golden files are left out; so is what a text quotes (`code`, "quotation", code blocks).
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	files := os.Args[1:]
	if len(files) == 0 {
		tracked, err := exec.Command("git", "ls-files").Output()
		if err != nil {
			fmt.Fprintln(os.Stderr, "prose: list the tracked files: run it in a git work tree:", err)
			os.Exit(2)
		}
		files = strings.Fields(string(tracked))
	}
	out := bufio.NewWriter(os.Stdout)
	found, err := check(files, out)
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(2)
	}
	if found > 0 {
		fmt.Fprintf(os.Stderr, "prose: %d findings\n", found)
		os.Exit(1)
	}
}

// check writes the findings of all files to out and returns their number.
func check(files []string, out *bufio.Writer) (int, error) {
	n := 0
	for _, name := range files {
		if skipped(name) {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return n, err
		}
		for _, f := range checkFile(name, content) {
			fmt.Fprintf(out, "%s:%d: %s\n", name, f.line, f.message)
			n++
		}
	}
	return n, nil
}

// skipped reports whether a file is generated, test data, or neither Go nor Markdown.
func skipped(name string) bool {
	slashed := "/" + filepath.ToSlash(name)
	if strings.Contains(slashed, "/testdata/") || strings.HasSuffix(name, ".gen.go") {
		return true
	}
	ext := filepath.Ext(name)
	return ext != ".go" && ext != ".md"
}

// checkFile returns the findings of one file, in the order of their lines.
func checkFile(name string, content []byte) []finding {
	if filepath.Ext(name) == ".md" {
		return checkMarkdown(content)
	}
	if bytes.HasPrefix(content, []byte("// Code generated ")) {
		return nil
	}
	return checkGo(name, content)
}
