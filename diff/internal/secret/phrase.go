package secret

import (
	"strings"
)

// This file finds secrets that a text sets in the syntax of one program: a
// database, a shell, a file of hashes.

// phrases finds all of them. Lower is the text in lower case.
func phrases(text, lower string) []setting {
	var out []setting
	for _, find := range []func(text, lower string) []setting{hashes, users, quotedPasswords, passwordFiles, puttyKeys,
		literals, manifests} {
		out = append(out, find(text, lower)...)
	}
	return out
}

// mentionsPhrase reports whether a text could have one that no stem indicates.
func mentionsPhrase(lower string) bool {
	for _, h := range []string{"$apr1$", "$2", "$5$", "$6$", "$y$", "$argon2", "private-lines:", "identified by", ":*:",
		":5432:"} {
		if strings.Contains(lower, h) {
			return true
		}
	}
	return false
}

// minHash is the smallest length of a password hash, with its parameters.
const minHash = 20

// hashes finds the password hashes of crypt, htpasswd and argon2.
// https://manpages.debian.org/crypt.5
func hashes(text, _ string) []setting {
	var out []setting
	for _, kind := range []string{"$apr1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$y$", "$argon2i$", "$argon2id$"} {
		places(text, kind, func(start, end int) int {
			stop := span(text, end, "./$,=+")
			if stop-start >= minHash && strings.IndexByte(text[end:stop], '$') > 0 {
				out = append(out, setting{name: kind, start: start, end: stop})
			}
			return stop
		})
	}
	return out
}

// users finds tokens in the place of the user in an address, and the password
// of USER/PASSWORD@HOST, as in Oracle's addresses.
func users(text, _ string) []setting {
	var out []setting
	places(text, "://", func(_, end int) int {
		stop := span(text, end, "_-.~%!$&*+=")
		user := text[end:stop]
		rest := text[stop:min(len(text), stop+len(":"+noPassword+"@"))]
		if (strings.HasPrefix(rest, "@") || strings.HasPrefix(rest, ":@") || rest == ":"+noPassword+"@") && Random(user) {
			out = append(out, setting{name: "://", start: end, end: stop})
		}
		return stop
	})
	places(text, ":thin:", func(_, end int) int {
		slash := span(text, end, "_-.")
		if slash == end || slash == len(text) || text[slash] != '/' {
			return slash
		}
		limit := text[slash+1 : min(len(text), slash+1+maxLogin)]
		n := strings.IndexAny(limit, "@ \t\r\n\"'")
		if n > 0 && limit[n] == '@' && isLiteral(limit) {
			out = append(out, setting{name: "thin", start: slash + 1, end: slash + 1 + n})
		}
		return slash + 1
	})
	return out
}

// quotedPasswords finds the passwords in SQL statements that create users.
func quotedPasswords(text, lower string) []setting {
	var out []setting
	for _, phrase := range []string{"identified by ", "identified by password ", "with password ", "encrypted password "} {
		places(lower, phrase, func(_, end int) int {
			start, stop := valueAt(text[:min(len(text), end+maxRefused)], end)
			if start > end && stop > start && Literal(text[start:stop]) {
				out = append(out, setting{name: "password", start: start, end: stop})
			}
			return end
		})
	}
	return out
}

// passwordFiles finds the last field of HOST:PORT:DATABASE:USER:PASSWORD, a line of a .pgpass.
// https://www.postgresql.org/docs/current/libpq-pgpass.html
func passwordFiles(text, _ string) []setting {
	var out []setting
	at := 0
	for line := range strings.Lines(text) {
		body := strings.TrimRight(line, " \t\r\n")
		var fields []string
		if !strings.ContainsAny(body, " \t\"'{}/,") {
			fields = strings.SplitN(body, ":", 6)
		}
		if len(fields) == 5 && (fields[1] == "*" || fields[1] != "" && isNumber(fields[1])) && Random(fields[4]) {
			out = append(out, setting{name: "pgpass", start: at + len(body) - len(fields[4]), end: at + len(body)})
		}
		at += len(line)
	}
	return out
}

// puttyKeys finds the lines of private keys in PuTTY's format.
func puttyKeys(text, lower string) []setting {
	var out []setting
	places(lower, "private-lines:", func(_, end int) int {
		p := end + skipLine(text[end:])
		start := p
		for p < len(text) {
			stop := span(text, skip(text, p, " \t", maxAround), "+/=")
			line := skipLine(text[p:])
			if stop == p || strings.TrimSpace(text[stop:p+line]) != "" {
				break
			}
			p += line
		}
		if body := strings.TrimSpace(text[start:p]); len(body) >= minHeld &&
			strings.HasPrefix(lower[skip(lower, p, " \t", maxAround):], "private-mac") {
			from := start + strings.Index(text[start:p], body)
			out = append(out, setting{name: "private-lines", start: from, end: from + len(body)})
		}
		return max(p, end)
	})
	return out
}

// minHeld is the smallest length of a key.
const minHeld = 16

// skipLine returns the length of the first line of a text, with its line end.
func skipLine(text string) int {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	return len(text)
}

// literals finds VALUE in "kubectl create secret … --from-literal=NAME=VALUE".
func literals(text, lower string) []setting {
	var out []setting
	places(lower, "--from-literal", func(start, end int) int {
		p := skip(text, end, "= \t\"'", 2)
		name := span(text, p, "_-.")
		before := lower[max(0, start-maxQuery):start]
		if p == end || name == p || name == len(text) || text[name] != '=' || !strings.Contains(before, "secret") {
			return end
		}
		from, stop := valueAt(text[:min(len(text), name+1+maxRefused)], name+1)
		value := text[from:stop]
		if value != "" && Literal(value) && isLiteral(value) && !ofWords(value, maxSegments) {
			out = append(out, setting{name: text[p:name], start: from, end: stop})
		}
		return stop
	})
	return out
}

// manifests finds the values of Kubernetes Secrets inside a text: in one of
// several documents, or in one with templates, which no parser can read.
func manifests(text, lower string) []setting {
	if !strings.Contains(lower, "kind: secret") && !strings.Contains(lower, `kind: "secret"`) {
		return nil
	}
	lines := linesOf(text)
	var out []setting
	done := 0
	for i, l := range lines {
		if i < done || l.key != "kind" || !strings.EqualFold(strings.Trim(text[l.value:l.end], ` "'`), "secret") {
			continue
		}
		first, last := i, i+1
		for first > done && lines[first].dash == lines[first].column && lines[first-1].belongs(l.column) {
			first--
		}
		for last < len(lines) && lines[last].belongs(l.column) && lines[last].dash == lines[last].column ||
			last < len(lines) && lines[last].dash > l.column {
			last++
		}
		out = append(out, dataOf(text, lines[first:last], l.column)...)
		done = last
	}
	return out
}

// manifestLine is a line of YAML: the column where its text starts, its first
// key, the column of the key, and where the value after it starts and ends.
type manifestLine struct {
	dash, column int
	key          string
	value, end   int
}

// belongs reports whether a line is in the same object as keys at a column.
func (l *manifestLine) belongs(column int) bool { return l.key != "---" && l.column >= column }

// linesOf returns the lines of a text that are neither empty nor comments.
func linesOf(text string) []manifestLine {
	var out []manifestLine
	at := 0
	for line := range strings.Lines(text) {
		body := strings.TrimRight(line, " \t\r\n")
		dash := len(body) - len(strings.TrimLeft(body, " "))
		l := manifestLine{dash: dash, column: dash, end: at + len(body), value: at + len(body)}
		for strings.HasPrefix(body[l.column:], "- ") {
			l.column += len(body[l.column:]) - len(strings.TrimLeft(body[l.column+1:], " "))
		}
		if own := body[l.column:]; strings.HasPrefix(own, "---") {
			l.key = "---"
		} else if key, _, found := strings.Cut(own, ":"); found {
			l.key = strings.ToLower(strings.Trim(key, `"'`))
			l.value = at + l.column + len(key) + 1
		}
		if at += len(line); body != "" && body[dash] != '#' {
			out = append(out, l)
		}
	}
	return out
}

// dataOf finds the values of the keys of a Secret at a column.
func dataOf(text string, lines []manifestLine, column int) []setting {
	var out []setting
	inside, block := false, -1
	for _, l := range lines {
		if l.column <= column {
			inside = l.column == column && (l.key == "data" || l.key == "stringdata" || l.key == "binarydata")
			block = -1
			continue
		}
		if !inside {
			continue
		}
		start := l.value
		if block >= 0 && l.dash > block { // a line of a multi-line value
			start = l.end - len(strings.TrimLeft(text[l.end-len(lineBody(text, l.end)):l.end], " "))
		} else {
			block = -1
		}
		start = skip(text, start, " \t", maxAround)
		value := strings.Trim(text[start:l.end], `"'`)
		switch {
		case block < 0 && value != "" && strings.Trim(value, "|>+-0123456789") == "":
			block = l.dash
		case value != "" && !strings.Contains(value, "{{") && Literal(value):
			out = append(out, setting{name: l.key, start: start, end: l.end})
		}
	}
	return out
}

// lineBody returns the line that ends at byte end.
func lineBody(text string, end int) string {
	return text[strings.LastIndexByte(text[:end], '\n')+1 : end]
}
