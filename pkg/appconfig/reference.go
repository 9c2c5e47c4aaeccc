package appconfig

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// content is the value of a key that may refer to a file, with the place where its text is written.
type content struct {
	text string
	file string
	node *node // nil if the text is a whole file
}

// isReference says whether a value points at a file instead of being the content. Only these beginnings count: a readme may begin
// with "github". What has more than one line is content.
func isReference(value string) bool {
	if strings.ContainsAny(value, "\r\n") {
		return false
	}
	return strings.HasPrefix(value, "./") || strings.HasPrefix(value, "../") || isRemote(value)
}

func isRemote(value string) bool {
	for _, scheme := range []string{"http://", "https://", "git::", "file://"} {
		if strings.HasPrefix(value, scheme) {
			return true
		}
	}
	return false
}

// inline gives the text of a key, read from the file that it refers to.
func (l *loader) inline(file string, t *table, key string) content {
	value := t.text(key)
	here := content{text: value, file: file, node: t.keys[key]}
	if !isReference(value) {
		return here
	}
	at := t.place(key)
	if isRemote(value) {
		l.errorf(file, at, "put the file beside the config and write ./name", "%q: remote file references are not supported yet", key)
		return content{file: file}
	}
	var tried []string
	for _, base := range bases(file) {
		name := path.Join(base, value)
		if name == ".." || strings.HasPrefix(name, "../") {
			continue
		}
		if len(tried) > 0 && tried[0] == name {
			continue
		}
		text, err := l.readText(name)
		if err == nil {
			return content{text: text, file: name}
		}
		if !errors.Is(err, fs.ErrNotExist) {
			l.errorf(file, at, "", "%q: %s cannot be read: %s", key, name, reason(err))
			return content{file: file}
		}
		tried = append(tried, name)
	}
	if len(tried) == 0 {
		l.errorf(file, at, "move the file into the config directory", "%q: %s is outside of the config directory", key, value)
		return content{file: file}
	}
	l.errorf(file, at, "tried "+strings.Join(tried, " and "), "%q: the file %s does not exist", key, value)
	return content{file: file}
}

// bases are the directories that a reference in a file is relative to: first its own, then the one that the format has for its
// section.
func bases(file string) []string {
	own := path.Dir(file)
	section, _, below := strings.Cut(file, "/")
	switch {
	case !below, section == "runbooks", section == "inputs", section == "secrets", section == "policies":
		section = "."
	}
	switch file {
	case "permissions.toml", "break_glass.toml":
		section = "permissions"
	}
	return []string{own, section}
}
