// Command generate writes descriptions.txt of package format: the comments of its types and fields,
// which are the documentation of the app config format. A program cannot read its own comments, and
// the schemas, `nuon explain config` and the reference page use them.
//
// Its argument is the directory of package format, by default pkg/appconfig/format. The same comments
// result in the same bytes. make generate calls it.
package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

const directory = "pkg/appconfig/format"

func main() {
	if err := run(cmp.Or(slices.Concat(os.Args[1:], []string{""})[0], directory)); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	text, err := Comments(dir)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "descriptions.txt"), text, 0o644)
}
