package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/nuon-toolkit/nuon/cli/console"
)

// changes prints the parts of each frame that the previous frame did not contain.
type changes struct {
	out    io.Writer
	format string // the value of -o
	last   map[string]int
}

func (c *changes) show(frame []byte) error {
	parts, err := c.parts(frame)
	if err != nil {
		return err
	}
	now := map[string]int{}
	for _, p := range parts {
		if now[p]++; now[p] <= c.last[p] {
			continue
		}
		if _, err := io.WriteString(c.out, p); err != nil {
			return err
		}
	}
	c.last = now
	return nil
}

// parts splits a frame into lines, or into the items of its JSON, each in its output form.
func (c *changes) parts(frame []byte) ([]string, error) {
	var parts []string
	if c.format != "json" && c.format != "yaml" {
		for line := range bytes.Lines(frame) {
			parts = append(parts, string(line))
		}
		return parts, nil
	}
	values := []json.RawMessage{frame}
	if trimmed := bytes.TrimSpace(frame); len(trimmed) == 0 {
		return nil, nil
	} else if trimmed[0] == '[' {
		if err := json.Unmarshal(frame, &values); err != nil {
			return nil, fmt.Errorf("%w: %w", errNoData, err)
		}
	}
	for _, v := range values {
		part, err := c.part(v)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func (c *changes) part(value []byte) (string, error) {
	if !json.Valid(value) {
		return "", errNoData
	}
	if c.format == "yaml" {
		b, err := console.EncodeYAML(json.RawMessage(value))
		return "---\n" + string(b), err
	}
	var line bytes.Buffer
	err := json.Compact(&line, value)
	return line.String() + "\n", err
}
