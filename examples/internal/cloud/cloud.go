// Package cloud runs a simulated cloud for Terraform: providers with the recorded schemas of aws,
// google, azurerm, kubernetes, helm and others under their own names, which keep what they create in
// a file, and a module registry. Terraform and runnerd find them by environment variables.
//
// The providers are one program, in the module provider below this directory. This package builds
// it, puts it into a mirror, and changes its objects through the program's own commands.
package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/nuon-toolkit/nuon/runnerd/tfbinary"
)

// Options configures Start.
type Options struct {
	// Dir receives everything: the program, the mirror, the objects. A cloud that was started in the same
	// directory before has its objects again.
	Dir string
	// Modules is a directory with modules to serve as those of registry.terraform.io, as
	// NAMESPACE/NAME/SYSTEM/VERSION/. Links in them are followed. Empty means none.
	Modules string
}

// Cloud is a running simulated cloud.
type Cloud struct {
	dir     string
	program string
	modules *registry
}

// Start starts a cloud. Close ends it.
func Start(ctx context.Context, o Options) (c *Cloud, err error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	c = &Cloud{dir: dir, program: filepath.Join(dir, "bin", "cloud")}
	if err := os.MkdirAll(filepath.Dir(c.program), 0o755); err != nil {
		return nil, fmt.Errorf("make a place for the cloud: %w", err)
	}
	store, err := os.OpenFile(filepath.Join(dir, "objects.jsonl"), os.O_CREATE, 0o600)
	if err == nil {
		err = store.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("make the store of the cloud: %w", err)
	}
	if err := build(ctx, c.program); err != nil {
		return nil, err
	}
	if _, err := c.command(ctx, "", "init"); err != nil {
		return nil, err
	}
	for _, name := range logins {
		if err := link(c.program, filepath.Join(dir, "bin", name)); err != nil {
			return nil, err
		}
	}
	if err := makeMirror(c.program, c.mirror()); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if o.Modules != "" {
		if c.modules, err = serveModules(o.Modules); err != nil {
			return c, err
		}
	}
	return c, c.writeConfig()
}

// logins are the programs that log in to clusters.
var logins = []string{"aws", "gke-gcloud-auth-plugin", "kubelogin"}

func (c *Cloud) mirror() string { return filepath.Join(c.dir, "mirror") }
func (c *Cloud) config() string { return filepath.Join(c.dir, "terraform.rc") }

// writeConfig writes Terraform's configuration. Without a direct block Terraform downloads no
// provider.
func (c *Cloud) writeConfig() error {
	text := fmt.Sprintf("disable_checkpoint = true\nprovider_installation {\n  filesystem_mirror {\n    path = %q\n"+
		"  }\n}\n", c.mirror())
	if c.modules != nil {
		text += fmt.Sprintf("host \"registry.terraform.io\" {\n  services = {\n    \"modules.v1\" = %q\n  }\n}\n",
			c.modules.services())
	}
	if err := os.WriteFile(c.config(), []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the configuration of Terraform: %w", err)
	}
	return nil
}

// Env returns the variables with which Terraform, and a runner that runs it, use this cloud.
func (c *Cloud) Env() []string {
	return []string{
		"TF_CLI_CONFIG_FILE=" + c.config(), tfbinary.EnvConfig + "=" + c.config(), "CHECKPOINT_DISABLE=1",
		"PATH=" + filepath.Join(c.dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
	}
}

// Close ends the cloud. Its objects stay in the directory.
func (c *Cloud) Close() error {
	if c.modules != nil {
		return c.modules.close()
	}
	return nil
}

// Object is an object of the cloud.
type Object struct {
	Type string `json:"type"`
	// ID is unique among the objects of the type. It is the attribute id, with a number appended where
	// several objects have the same.
	ID         string         `json:"id"`
	Attributes map[string]any `json:"attributes"`
}

// Objects returns all objects, the oldest first.
func (c *Cloud) Objects(ctx context.Context) (objects []Object, err error) {
	out, err := c.command(ctx, "", "objects")
	if err != nil {
		return nil, err
	}
	return objects, json.Unmarshal(out, &objects)
}

// Create creates an object that exists before anything is installed, and returns its attributes. It
// has the form of the newest version of its provider.
func (c *Cloud) Create(ctx context.Context, typ string, attributes map[string]any) (created map[string]any, err error) {
	given, err := json.Marshal(attributes)
	if err != nil {
		return nil, err
	}
	out, err := c.command(ctx, string(given), "create", typ)
	if err != nil {
		return nil, err
	}
	return created, json.Unmarshal(out, &created)
}

// Remove removes an object, as if somebody had deleted it outside of Terraform.
func (c *Cloud) Remove(ctx context.Context, typ, id string) error {
	_, err := c.command(ctx, "", "remove", typ, id)
	return err
}

// Drift changes an attribute of an object, as if somebody had changed it outside of Terraform. A dot
// separates the names of nested attributes.
func (c *Cloud) Drift(ctx context.Context, typ, id, attribute string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = c.command(ctx, "", "drift", typ, id, attribute, string(text))
	return err
}

// Fault is what goes wrong in an operation.
type Fault struct {
	// Type is a resource type or data source, or * for all.
	Type string `json:"type"`
	// Operation is plan, create, read, update or delete; "after create" and the like fail when the work
	// is done. * is every one of the first kind.
	Operation string `json:"operation"`
	// Times is how often it goes wrong; negative is always.
	Times int `json:"times"`
	// Error is what the operation fails with; without it, it succeeds.
	Error string `json:"error,omitempty"`
	// Delay is how long the operation takes, such as 2s.
	Delay string `json:"delay,omitempty"`
	// Throttled is how many requests of the operation are rejected before one is accepted. From 11 on the
	// operation fails.
	Throttled int `json:"throttled,omitempty"`
}

// SetFaults replaces the list of faults.
func (c *Cloud) SetFaults(ctx context.Context, faults ...Fault) error {
	text, err := json.Marshal(append([]Fault{}, faults...))
	if err != nil {
		return err
	}
	_, err = c.command(ctx, string(text), "faults")
	return err
}

// command runs a command of the program.
func (c *Cloud) command(ctx context.Context, input string, args ...string) ([]byte, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("cloud %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.Bytes(), nil
}
