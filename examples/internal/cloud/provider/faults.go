package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// faultsFile is the list of faults in the directory of a cloud.
const faultsFile = "faults.json"

// fault is what goes wrong in an operation.
type fault struct {
	// Type is a resource type or data source, or * for all.
	Type string `json:"type"`
	// Operation is plan, create, read, update or delete; "after create" and the like fail when the work
	// is done. * is every one of the first kind.
	Operation string `json:"operation"`
	// Times is how often it goes wrong; negative is always.
	Times int `json:"times"`
	// Error is what the operation fails with, "" if it succeeds.
	Error string `json:"error,omitempty"`
	// Delay is how long the operation takes, as time.ParseDuration reads it.
	Delay string `json:"delay,omitempty"`
	// Throttled is how many requests of the operation the cloud rejects before it accepts one. The
	// provider waits longer after each of them.
	Throttled int `json:"throttled,omitempty"`
}

func (f fault) meets(typ, operation string) bool {
	return f.Times != 0 && (f.Type == typ || f.Type == "*") && (f.Operation == operation ||
		f.Operation == "*" && operation[:min(6, len(operation))] != "after ")
}

// maxThrottled is the number of rejected requests after which a provider fails.
const maxThrottled = 10

// meetFaults makes an operation slow or fail as the list of faults says.
func (s *server) meetFaults(ctx context.Context, typ, operation string) error {
	met, err := s.store.takeFaults(typ, operation)
	if err != nil {
		return err
	}
	for _, f := range met {
		if f.Delay != "" {
			delay, err := time.ParseDuration(f.Delay)
			if err != nil {
				return err
			}
			if err := pause(ctx, delay); err != nil {
				return err
			}
		}
		for n := range f.Throttled {
			if n == maxThrottled {
				return errors.New("operation error: exceeded maximum number of attempts, ThrottlingException: Rate exceeded")
			}
			if err := pause(ctx, min(100*time.Millisecond<<n, 500*time.Millisecond)); err != nil {
				return err
			}
		}
		if f.Error != "" {
			return errors.New(f.Error)
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("interrupted: %w", ctx.Err())
	}
}

// takeFaults returns the faults of an operation, and counts them.
func (s *store) takeFaults(typ, operation string) (met []fault, err error) {
	file := filepath.Join(s.directory, faultsFile)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	err = s.update(func(*transaction) error {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var faults []fault
		if err := json.Unmarshal(content, &faults); err != nil {
			return fmt.Errorf("%s: %w", faultsFile, err)
		}
		counted := false
		for i, f := range faults {
			if !f.meets(typ, operation) {
				continue
			}
			met = append(met, f)
			if f.Times > 0 {
				faults[i].Times--
				counted = true
			}
		}
		if !counted {
			return nil
		}
		return writeFaults(file, faults)
	})
	return met, err
}

func writeFaults(file string, faults []fault) error {
	content, err := json.MarshalIndent(faults, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
