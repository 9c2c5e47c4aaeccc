package console

import "strings"

// ShellWord quotes a word if a shell would split or expand it.
func ShellWord(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/:@=+-,"
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(plain, r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// CommandLine returns a command line that can be pasted into a shell.
func CommandLine(words ...string) string {
	quoted := make([]string, 0, len(words))
	for _, w := range words {
		quoted = append(quoted, ShellWord(w))
	}
	return strings.Join(quoted, " ")
}
