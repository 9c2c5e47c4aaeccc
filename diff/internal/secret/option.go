package secret

import "strings"

// This file finds secrets in single-letter options of programs, and tokens
// that are recognized by their middle.

// programs are the programs for which a single-letter option sets a password, and that option.
var programs = []struct{ name, option string }{
	{"sshpass", "-p"}, {"mysql", "-p"}, {"mariadb", "-p"}, {"mongo", "-p"}, {"docker login", "-p"}, {"podman login", "-p"},
	{"registry login", "-p"}, {"az login", "-p"}, {"redis-cli", "-a"}, {"ldapsearch", "-w"}, {"ldapmodify", "-w"},
	{"ldapadd", "-w"},
}

// programOptions finds the values of these options that look random: "-p"
// sets a port or a path in other programs.
func programOptions(text, lower string) []setting {
	var out []setting
	for _, option := range []string{" -p", " -a", " -w"} {
		places(text, option, func(start, end int) int {
			from, stop := valueAt(text[:min(len(text), end+maxRefused)], skip(text, end, " =", 2))
			value := text[from:stop]
			if !Random(value) {
				return end
			}
			line := lower[max(0, start-maxQuery):start]
			line = line[strings.LastIndexByte(line, '\n')+1:]
			for _, p := range programs {
				if p.option == option[1:] && strings.Contains(line, p.name) {
					out = append(out, setting{name: option[1:], start: from, end: stop})
					break
				}
			}
			return max(end, stop)
		})
	}
	return out
}

// Option reports whether an argument is a secret that the option before it sets, if
// only both together show it: "-u" and "user:password", or "-p" and a random value.
func Option(option, value string) bool {
	switch option {
	case "-u", "--user", "--proxy-user":
		from, to, ok := login(value+" ", 0)
		return ok && to == len(value) && strong(value[from:to])
	case "-p", "-a", "-w":
		return Random(value)
	}
	return false
}

// infixes are in the middle of tokens, after the id of one and before at least least characters.
// https://developer.hashicorp.com/terraform/cloud-docs/users-teams-organizations/api-tokens
// https://core.telegram.org/bots/api#authorizing-your-bot
var infixes = []struct {
	middle, more string
	least        int
	// id is the smallest length of the id before it; digits means that the id is a number.
	id     int
	digits bool
}{
	{".atlasv1.", "_-", 60, 14, false},
	{":AA", "_-", 33, 8, true},
}

func infixTokens(text string) []setting {
	var out []setting
	for _, f := range infixes {
		places(text, f.middle, func(start, end int) int {
			stop := span(text, end, f.more)
			first := max(0, start-f.id)
			id := text[first:start]
			if len(id) == f.id && span(text, first, "") == start && (!f.digits || isNumber(id)) && stop-end >= f.least {
				out = append(out, setting{name: f.middle, start: start + 1, end: stop})
			}
			return stop
		})
	}
	return out
}
