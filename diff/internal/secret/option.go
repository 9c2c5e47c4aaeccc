package secret

import "strings"

// This file finds the secrets that single letters of programs set, and tokens that their middle tells.

// programs are those of which an option of one letter is a password, and that letter.
var programs = []struct{ name, option string }{
	{"sshpass", "-p"}, {"mysql", "-p"}, {"mariadb", "-p"}, {"mongo", "-p"}, {"docker login", "-p"}, {"podman login", "-p"},
	{"registry login", "-p"}, {"az login", "-p"}, {"redis-cli", "-a"}, {"ldapsearch", "-w"}, {"ldapmodify", "-w"}, {"ldapadd", "-w"},
}

// programOptions finds what such an option sets, if it looks random: "-p" is a port and a path of other programs.
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

// Option reports whether an argument is the secret that the option before it sets, where only the two together tell: "-u" and
// "user:password", "-p" and what looks random.
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

// infixes are in the middle of tokens, behind the id of one. What follows has so many characters at least.
// https://developer.hashicorp.com/terraform/cloud-docs/users-teams-organizations/api-tokens
// https://core.telegram.org/bots/api#authorizing-your-bot
var infixes = []struct {
	middle, more string
	least        int
	// id is how long the id before it is at least, and digits says that it is a number.
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
