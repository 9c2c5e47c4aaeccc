package terraform

import (
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// commands are the attributes that say what runs, in which a secret may be a part.
var commands = map[string]bool{
	"command": true, "commands": true, "args": true, "arguments": true, "interpreter": true, "inline": true, "script": true, "entrypoint": true,
	"entryPoint": true, "user_data": true, "user_data_base64": true, "custom_data": true, "startup_script": true,
	"metadata_startup_script": true, "buildspec": true, "cloud_init": true,
}

// commandPlace says that a value is a command, an argument of one, or a script.
func commandPlace(p tree.Path) bool {
	for _, s := range p {
		if commands[s.Key] {
			return true
		}
	}
	return false
}

// plainPlace says that a value is an image, a subject, a role, a path, an ARN or the like: it is shown whatever it equals.
func plainPlace(p tree.Path, before, after diff.Raw) bool {
	if commandPlace(p) {
		return false
	}
	for _, s := range p {
		if s.Key != "" && secret.Plain(s.Key) {
			return true
		}
	}
	return isARN(before) || isARN(after)
}

func isARN(v diff.Raw) bool {
	text, ok := raw.Reveal(v).(string)
	return ok && secret.ARN(text)
}
