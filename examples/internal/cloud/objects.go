package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
)

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
