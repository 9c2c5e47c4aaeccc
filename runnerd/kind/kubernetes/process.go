package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
)

// varKustomize is the variable that makes a process of this program run kustomize.
const varKustomize = "NUON_KUSTOMIZE"

// maxMemory bounds the memory of kustomize, in bytes. A few lines of a kustomization can
// need any amount: bases that include others twice, aliases, replacements that double
// a value. Tests change it.
var maxMemory int64 = 2 << 30

// kustomizeProgram returns the path of a program that calls RunKustomizeProcess: this one. Tests change it.
var kustomizeProgram = os.Executable

// The exit codes of the process. With any other code its output has no explanation.
const (
	exitRejected = 3 // the output has the reason
	exitMemory   = 4
	exitOrphaned = 5
)

// kustomizeOrder is the input of the process; the packed source follows it.
type kustomizeOrder struct {
	Spec   api.KustomizeSpec `json:"spec"`
	Memory int64             `json:"memory"`
	// Parent is the process that waits for the output.
	Parent int `json:"parent"`
}

// kustomizeInProcess runs kustomize on a packed source in another process, which has no
// environment, ends with ctx, and may not use more memory than maxMemory.
func kustomizeInProcess(ctx context.Context, env *job.Env, layer []byte, spec api.KustomizeSpec) (string, error) {
	if os.Getenv(varKustomize) != "" {
		return "", errors.New("this program does not call manifest.Become in its main function; report it")
	}
	input, err := kustomizeInput(env.Dir, layer, kustomizeOrder{Spec: spec, Memory: maxMemory, Parent: os.Getpid()})
	if err != nil {
		return "", fmt.Errorf("start kustomize: %w", err)
	}
	defer func() { _ = input.Close() }()
	program, err := kustomizeProgram()
	if err != nil {
		return "", fmt.Errorf("start kustomize: %w", err)
	}
	stdout := &subprocess.Output{Max: maxOutput}
	err = subprocess.Program{
		Path: program, Args: []string{"kustomize"}, Dir: "/", Env: []string{varKustomize + "=1"}, Stdin: input,
		Stdout: stdout, Stderr: io.Discard, Name: "kustomize", Grace: env.Timing.ToolGrace, Warn: env.Log.Warn,
	}.Run(ctx)
	if ctx.Err() != nil {
		return "", fmt.Errorf("kustomize: %w", context.Cause(ctx))
	}
	exit := (*exec.ExitError)(nil)
	switch {
	case err == nil && stdout.Exceeded():
		return "", errOutputTooLarge
	case err == nil:
		return string(stdout.Bytes()), nil
	case errors.As(err, &exit) && exit.ExitCode() == exitRejected:
		return "", errors.New(string(stdout.Bytes()))
	case errors.As(err, &exit) && exit.ExitCode() == exitMemory:
		return "", fmt.Errorf("kustomize takes more than %d MiB of memory; divide it into several components, and see "+
			"whether bases, aliases or replacements multiply what they hold", maxMemory>>20)
	case errors.As(err, &exit):
		return "", fmt.Errorf("kustomize crashed (%w); see whether a YAML alias holds itself or bases are nested "+
			"without end", err)
	}
	return "", fmt.Errorf("start kustomize: %w", err)
}

// kustomizeInput returns an open, unnamed file with the order and the packed source.
func kustomizeInput(dir string, layer []byte, order kustomizeOrder) (*os.File, error) {
	file, err := os.CreateTemp(dir, "kustomize-")
	if err != nil {
		return nil, err
	}
	err = errors.Join(os.Remove(file.Name()), json.NewEncoder(file).Encode(order))
	if err == nil {
		_, err = file.Write(layer)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// RunKustomizeProcess runs kustomize and ends this process if it was started for that. In any other process
// it does nothing. The main function of a program that builds manifests calls it first.
func RunKustomizeProcess() {
	if os.Getenv(varKustomize) == "" {
		return
	}
	text, err := readAndKustomize(os.Stdin)
	if err != nil {
		fmt.Print(err)
		os.Exit(exitRejected) //nolint:forbidigo // it is the main function of this process
	}
	if _, err := os.Stdout.WriteString(text); err != nil {
		os.Exit(1) //nolint:forbidigo // it is the main function of this process
	}
	os.Exit(0) //nolint:forbidigo // it is the main function of this process
}

func readAndKustomize(from io.Reader) (string, error) {
	whole, err := io.ReadAll(from)
	if err != nil {
		return "", fmt.Errorf("read the source: %w", err)
	}
	line, layer, _ := bytes.Cut(whole, []byte("\n"))
	var order kustomizeOrder
	if err := json.Unmarshal(line, &order); err != nil {
		return "", fmt.Errorf("read what kustomize is to do: %w", err)
	}
	limitProcess(order)
	// If confined misses a reference, it still reaches nothing.
	http.DefaultTransport = noNetwork{}
	files, err := artifact.Untar(layer, artifact.Limits{})
	if err != nil {
		return "", fmt.Errorf("unpack the source: %w", err)
	}
	return kustomize(files, order.Spec)
}

// noNetwork is a network without servers.
type noNetwork struct{}

// RoundTrip returns an error.
func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("a kustomization fetches nothing")
}

// maxStack bounds the stack of a goroutine, in bytes, because a kustomization can make
// kustomize recurse endlessly.
const maxStack = 128 << 20

// limitProcess ends this process when it uses too much memory, or when its parent has ended.
func limitProcess(order kustomizeOrder) {
	debug.SetMaxStack(maxStack)
	taken := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	go func() { // runs until the process ends
		for range time.Tick(2 * time.Millisecond) {
			if os.Getppid() != order.Parent {
				os.Exit(exitOrphaned) //nolint:forbidigo // nobody waits for this process
			}
			metrics.Read(taken)
			if int64(taken[0].Value.Uint64()-taken[1].Value.Uint64()) > order.Memory {
				os.Exit(exitMemory) //nolint:forbidigo // kustomize cannot be interrupted
			}
		}
	}()
}
