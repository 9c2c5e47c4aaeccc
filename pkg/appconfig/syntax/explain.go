package syntax

import (
	"strconv"
	"strings"
)

// explainError turns an error of the parser into a message for people: the parser reports the token
// that it expected, which is rarely the author's mistake. line is the line of the error, without
// its end, and column counts from 1. It returns the message, what to write instead if that is
// clear, and the column of the mistake.
func explainError(message, line string, column int) (words, hint string, at int) {
	at = max(1, min(column, len(line)+1))
	startsWith := func(beginning string) bool { return strings.HasPrefix(message, beginning) }
	switch {
	case startsWith("expected '=' after key"):
		words, hint = notAssigned(line, at)
		return words, hint, at
	case startsWith("expected ']"):
		return "the name of a table is not closed", "write ] behind it, or quote what is not a letter, digit, _ or -",
			at
	case startsWith("invalid escape character"):
		return message, `write \\ for a backslash, or put the text into single quotes`, at
	case startsWith("multiline") && strings.Contains(message, "not terminated"):
		return "a text of many lines is not closed", "write its three quotes behind it", at
	}
	value, start := valueOf(line)
	if start == 0 || at < start && value != "" {
		return message, "", at
	}
	if words, hint = wrongValue(message, value); words == "" {
		return message, "", at
	}
	if value != "" && words != somethingFollows {
		at = start
	}
	return words, hint, at
}

const somethingFollows = "something follows the value"

// notAssigned returns the message for a key that is not followed by =.
func notAssigned(line string, at int) (words, hint string) {
	if at <= len(line) && line[at-1] == ':' {
		return "a key is followed by =, not by :", "write ="
	}
	return "a key is followed by =", "write KEY = VALUE, with quotes around a key of more than one word"
}

// wrongValue returns the message for an invalid value, or nothing if its start does not show the
// mistake.
func wrongValue(message, value string) (words, hint string) {
	switch {
	case value == "":
		return "a value is missing", `write it behind the =, such as "text", 5 or true`
	case value[0] == '"' || value[0] == '\'':
		if strings.HasSuffix(message, "cannot have new lines") || strings.HasPrefix(message, "unterminated") {
			return "a text is not closed on its line",
				`close it with its quote, or write """ before and behind text of many lines`
		}
		if strings.HasPrefix(message, "expected newline") && strings.Contains(value, "{{") && value[0] == '"' {
			return somethingFollows, `put the whole text into single quotes, or write \" for each quote in it`
		}
		if strings.HasPrefix(message, "expected newline") {
			return somethingFollows, "begin a new line for each key"
		}
		return "", ""
	case strings.HasPrefix(value, "“") || strings.HasPrefix(value, "”") || strings.HasPrefix(value, "‘") ||
		strings.HasPrefix(value, "’"):
		return "these quotes are not those of TOML", `write straight ones: "`
	case strings.HasPrefix(value, "{{"):
		return "a text stands in quotes", "write " + strconv.Quote(value)
	case value[0] == '+' || value[0] == '-' || value[0] >= '0' && value[0] <= '9':
		return "this is no number", "write " + strconv.Quote(value)
	case value[0] == '[' || value[0] == '{' || value[0] == ']' || value[0] == '}' || value[0] == ',' || value[0] == '=':
		return "", ""
	}
	return wrongWord(value)
}

// wrongWord returns the message for a text without quotes.
func wrongWord(value string) (words, hint string) {
	switch strings.ToLower(value) {
	case "true", "yes", "on":
		return "this is no value", "write true"
	case "false", "no", "off":
		return "this is no value", "write false"
	case "null", "nil", "none", "~":
		return "there is no value for nothing", "remove the key"
	}
	return "a text stands in quotes", "write " + strconv.Quote(value)
}

// valueOf returns the text after the = of a bare key, without a comment, and its column; 0 if the
// line has another form.
func valueOf(line string) (value string, start int) {
	end := strings.IndexByte(line, '=')
	if end < 0 {
		return "", 0
	}
	for part := range strings.SplitSeq(line[:end], ".") {
		if !IsBareKey(strings.TrimSpace(part)) {
			return "", 0
		}
	}
	rest := strings.TrimLeft(line[end+1:], " \t")
	start = len(line) - len(rest) + 1
	if strings.HasPrefix(rest, "#") {
		return "", start
	}
	if rest != "" && rest[0] != '"' && rest[0] != '\'' {
		if comment := strings.Index(rest, " #"); comment >= 0 {
			rest = rest[:comment]
		}
	}
	return strings.TrimRight(rest, " \t\r"), start
}
