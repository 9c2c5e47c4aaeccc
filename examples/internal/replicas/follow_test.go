package replicas

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// The number of lines that an apply prints before each replica is stopped, and after.
const linesEach = 10

// followed checks that a client that follows a log sees each line once and in order, while one
// replica is restarted and the other one killed.
func followed(t *testing.T, w *world, _ *crowd) {
	goOn := filepath.Join(w.fleet.Dir, "go-on")
	w.pushed++
	w.write("modules/web/main.tf", fmt.Sprintf(talkative, w.pushed, linesEach, goOn, linesEach+1, 2*linesEach))
	w.publish()
	job := ""
	w.until("the apply of web has begun", func() (bool, error) {
		var run api.Workflow
		if err := w.fleet.JSON(t.Context(), &run, "workflows", "get", "latest:acme"); err != nil {
			return false, err
		}
		for _, step := range run.Steps {
			if step.Kind == "apply" && step.Component == "web" && run.EndedAt.IsZero() {
				job = step.Job
			}
		}
		return job != "", nil
	})

	follow := exec.CommandContext(t.Context(), filepath.Join(w.fleet.Bin, "nuon"), "logs", "-f", job)
	follow.Env = append(os.Environ(), "NUON_URL="+w.fleet.Control.URL(), "NUON_TOKEN="+w.fleet.Token,
		"NUON_CONFIG="+filepath.Join(t.TempDir(), "nuon.toml"))
	var errs strings.Builder
	follow.Stderr = &errs
	out, err := follow.StdoutPipe()
	must(t, err)
	must(t, follow.Start())
	seen, lines := make(chan struct{}), make(chan []string, 1)
	go func() {
		var all []string
		for scan := bufio.NewScanner(out); scan.Scan(); {
			if all = append(all, scan.Text()); strings.Contains(scan.Text(), spoken(linesEach)) {
				close(seen)
			}
		}
		lines <- all
	}()
	select {
	case <-seen:
	case all := <-lines:
		t.Fatalf("it ended too early: %v: %s\n%s", follow.Wait(), errs.String(), strings.Join(all, "\n"))
	case <-testtime.After():
		t.Fatalf("the first %d lines do not come: %s", linesEach, errs.String())
	}
	must(t, w.fleet.Replicas[0].Stop(testtime.Limit))
	must(t, w.fleet.StartReplica(t.Context(), 0))
	must(t, w.fleet.Replicas[1].Kill())
	must(t, w.fleet.StartReplica(t.Context(), 1))
	must(t, os.WriteFile(goOn, nil, 0o600))
	all := <-lines // ends with the job or the test
	if err := follow.Wait(); err != nil {
		t.Errorf("nuon logs -f: %v: %s", err, errs.String())
	}
	next := 1
	for _, line := range all {
		if !strings.Contains(line, "said-") || strings.Contains(line, "said-$") {
			continue // output of Terraform itself
		}
		if !strings.Contains(line, spoken(next)) {
			t.Errorf("%s where line %d should be", line, next)
		}
		next++
	}
	if next != 2*linesEach+1 {
		t.Errorf("%d lines of %d came:\n%s", next-1, 2*linesEach, strings.Join(all, "\n"))
	}
	w.arrived()
}

// spoken returns the text of line n of the apply.
func spoken(n int) string { return fmt.Sprintf("said-%d-end", n) }

// talkative is the module web with a resource that prints some lines while it is created, waits for
// a file, and prints some more.
const talkative = `variable "region" {
  type = string
}

resource "terraform_data" "web" {
  input = "${var.region} %d"
}

resource "terraform_data" "talk" {
  provisioner "local-exec" {
    command = <<-EOT
      for i in $(seq 1 %d); do echo "said-$i-end"; done
      waited=0
      while [ ! -e '%s' ] && [ $waited -lt 4800 ]; do sleep 0.1; waited=$((waited + 1)); done
      for i in $(seq %d %d); do echo "said-$i-end"; done
    EOT
  }
}
`
