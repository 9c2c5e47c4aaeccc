package main

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

//go:embed app
var packaged embed.FS

//go:embed witness.sh
var witness []byte

// install creates the repository, connects the app, gives every customer the witness, and creates
// the installs.
func (s *soak) install(ctx context.Context) (err error) {
	if s.vendor, err = s.fleet.NewRepository(ctx, "soak", packaged); err != nil {
		return err
	}
	for _, c := range customers {
		if err := s.equip(s.fleet.Installers[c], nil); err != nil {
			return err
		}
	}
	if _, err := s.fleet.Nuon(ctx, "apps", "create", "soak", "--repo", s.vendor.URL, "--branch", "main", "--directory",
		"app"); err != nil {
		return err
	}
	if _, err := s.fleet.Nuon(ctx, "sync", "--app", "soak"); err != nil {
		return err
	}
	for number := range s.Installs {
		// Half of them require an approval for everything.
		args := []string{"installs", "create", installName(number), "--app", "soak", "--runner",
			customers[number%len(customers)]}
		if number/len(customers)%2 == 1 {
			args = append(args, "--approval", "approve-all", "--allow-destroy")
		}
		if _, err := s.fleet.Nuon(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// equip installs the witness on a customer's machine. If key is nil, it stores the machine's own install
// key in m.Key, as the customer's copy; otherwise it writes that copy to the disk of the new machine.
func (s *soak) equip(m *fleet.Runner, key []byte) (err error) {
	if err := os.WriteFile(filepath.Join(m.Home, "witness.sh"), witness, 0o644); err != nil {
		return err
	}
	if m.Key = key; key == nil {
		m.Key, err = os.ReadFile(m.KeyFile())
		return err
	}
	if err := os.MkdirAll(m.Dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(m.KeyFile(), key, 0o600)
}

func installName(number int) string {
	return fmt.Sprintf("%s-%d", customers[number%len(customers)], number/len(customers)+1)
}

// changeModule pushes a change of one module, so that every install is behind.
func (s *soak) changeModule(ctx context.Context) error {
	s.pushes++
	if err := s.vendor.Write("app/modules/aside/push.tf", fmt.Sprintf("output \"push\" {\n  value = %d\n}\n",
		s.pushes)); err != nil {
		return err
	}
	return s.vendor.Push(ctx, fmt.Sprintf("Push %d", s.pushes))
}

// installs lists the installs through the API.
func (s *soak) installs(ctx context.Context) (all []api.Install, err error) {
	return all, s.fleet.JSON(ctx, &all, "installs", "list")
}
