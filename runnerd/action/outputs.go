package action

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// maxOutputs bounds the outputs of one step, in bytes.
const maxOutputs = 1 << 20

// stepsOutput is the name of the output with the outputs of each step by its name.
const stepsOutput = "steps"

// stepOutputs are the outputs of one step.
type stepOutputs struct {
	step   string
	values map[string]any
}

// readOutputs reads the file that a step wrote: lines with a JSON object or key=value each,
// or one JSON object over several lines. Later values win.
func readOutputs(path string) (map[string]any, error) {
	// The step may have replaced the file by anything.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read its outputs: %w; write into the file itself", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(errors.New("what it wrote as outputs is not a file"), err)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxOutputs+1))
	if err != nil {
		return nil, fmt.Errorf("read its outputs: %w", err)
	}
	if len(content) > maxOutputs {
		return nil, fmt.Errorf("its outputs have more than %d bytes; write less", maxOutputs)
	}
	made, err := parseOutputs(content)
	if _, taken := made[stepsOutput]; taken {
		return nil, fmt.Errorf("it gives an output named %q, which has the outputs of all steps; give it another name",
			stepsOutput)
	}
	return made, err
}

func parseOutputs(content []byte) (map[string]any, error) {
	made := map[string]any{}
	if whole, err := decode(content); err == nil {
		return whole, nil
	}
	number := 0
	for line := range bytes.Lines(content) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if line[0] == '{' || line[0] == '[' {
			object, err := decode(line)
			if err != nil {
				return nil, fmt.Errorf("line %d of its outputs: %w; write a JSON object or key=value", number, err)
			}
			maps.Copy(made, object)
			continue
		}
		key, value, found := strings.Cut(string(line), "=")
		if key = strings.TrimSpace(key); !found || key == "" {
			return nil, fmt.Errorf("line %d of its outputs is neither a JSON object nor key=value; correct it", number)
		}
		made[key] = strings.ToValidUTF8(value, "\uFFFD")
	}
	return made, nil
}

// decode parses exactly one JSON object.
func decode(text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, errors.New("it is not JSON")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one JSON value")
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("it is JSON, but not an object")
	}
	return object, nil
}

// outputs merges the outputs of the steps, both flat and below "steps", and seals those
// that contain a known secret. A later step wins.
func (r *run) outputs(all []stepOutputs) ([]api.Output, error) {
	flat, steps := map[string]any{}, map[string]any{}
	for _, each := range all {
		maps.Copy(flat, each.values)
		steps[each.step] = each.values
	}
	if len(flat) == 0 {
		return []api.Output{}, nil
	}
	flat[stepsOutput] = steps
	secret := r.values.Secrets.Contains()
	var made []api.Output
	for _, name := range slices.Sorted(maps.Keys(flat)) {
		encoded, err := json.Marshal(flat[name])
		if err != nil {
			return nil, fmt.Errorf("output %s: %w", name, err)
		}
		if secret(name) {
			return nil, errors.New("a secret value is the name of an output; give the output a fixed name")
		}
		output, err := values.SealOutput(values.ActionProducer(r.spec), name, encoded, false, r.env.Key, secret)
		if err != nil {
			return nil, err
		}
		made = append(made, output)
	}
	return made, nil
}
