package format

import "strings"

// readConfig applies the words of a config tag, which the comment of this package lists. It ignores
// unknown words; the tests of this package report them.
func (k *Key) readConfig(tag string) {
	for word := range strings.SplitSeq(tag, ",") {
		word, value, _ := strings.Cut(word, "=")
		switch word {
		case "required":
			k.Required = true
		case "one":
			k.Values = strings.Split(value, "|")
		case "known":
			k.Suggested = strings.Split(value, "|")
		case "default":
			k.Default = value
		case "template":
			k.Template = true
		case "file":
			k.File = true
		case "duration", "cron", "regexp", "url", "json":
			k.Format = word
		case "set":
			k.Unordered = true
		case "sorted":
			k.SortedBy = value
		case "idle":
			k.NoEffectYet = true
		case "was":
			k.OldNames = strings.Split(value, "|")
		}
	}
}

// oldValues parses a values tag: it maps older spellings of values to the current ones.
func oldValues(tag string) map[string]string {
	if tag == "" {
		return nil
	}
	values := map[string]string{}
	for pair := range strings.SplitSeq(tag, ",") {
		old, current, _ := strings.Cut(pair, "=")
		values[old] = current
	}
	return values
}
