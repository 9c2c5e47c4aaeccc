package secret

import (
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// commands are the fields of manifests and the attributes of plans that
// define what runs, and may contain a secret.
var commands = map[string]bool{
	"command": true, "commands": true, "args": true, "arguments": true, "interpreter": true, "inline": true,
	"script": true, "entrypoint": true, "entryPoint": true, "user_data": true, "user_data_base64": true,
	"custom_data": true, "startup_script": true, "metadata_startup_script": true, "buildspec": true, "cloud_init": true,
	"startup-script": true, "shutdown-script": true, "user-data": true, "windows-startup-script-ps1": true,
	"windows-startup-script-cmd": true, "sysprep-specialize-script-ps1": true, "ssh-keys": true,
}

// CommandPlace reports whether a path leads to a command, an argument of one, or a script.
func CommandPlace(p tree.Path) bool {
	for _, s := range p {
		if commands[s.Key] {
			return true
		}
	}
	return false
}

// IsARN reports whether a value is the name of an AWS resource, and nothing else.
func IsARN(v raw.Value) bool {
	text, ok := raw.String(v)
	return ok && ARN(text)
}
