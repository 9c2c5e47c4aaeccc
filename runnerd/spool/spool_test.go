package spool_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/filelock"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

func create(t interface{ Fatal(...any) }, root string) spool.Attempt {
	attempt, err := spool.Spool{Root: root}.Create(spool.Record{Job: "job_1", Attempt: 1, Kind: "plan"})
	if err != nil {
		t.Fatal(err)
	}
	return attempt
}

func TestIDsThatAreNoDirectory(t *testing.T) {
	for _, id := range []string{"", ".", "..", "a/b", "../x", "a.1", "-x", "a\x00", strings.Repeat("x", 101)} {
		if err := spool.CheckID(id, 1); err == nil {
			t.Errorf("took %q", id)
		}
	}
	if spool.CheckID("job_1", 0) == nil || spool.CheckID("job_1", -1) == nil {
		t.Error("took an attempt below 1")
	}
	if err := spool.CheckID("job-01J_x", 12); err != nil {
		t.Error(err)
	}
}

func TestRecordsComeBack(t *testing.T) {
	root := t.TempDir()
	attempt := create(t, root)
	if _, err := (spool.Spool{Root: root}).Create(spool.Record{Job: "job_1", Attempt: 1}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made twice: %v", err)
	}
	record := spool.Record{Job: "job_1", Attempt: 1, Kind: "plan", Token: "t", AcceptBy: time.Unix(9, 0).UTC()}
	if err := attempt.SaveRecord(record); err != nil {
		t.Fatal(err)
	}
	got, err := attempt.Record()
	if err != nil || !got.Accepted() {
		t.Fatal(got, err)
	}
	if diff := cmp.Diff(record, got); diff != "" {
		t.Error(diff)
	}
	if _, found, err := attempt.Result(); found || err != nil {
		t.Errorf("a result that nobody saved: %v %v", found, err)
	}
	if err := os.WriteFile(filepath.Join(attempt.Dir, "result.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := attempt.Result(); err == nil {
		t.Error("took a broken file")
	}
	info, err := os.Stat(filepath.Join(attempt.Dir, "attempt.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the record with the token: %v %v", info.Mode(), err)
	}
}

func TestListClearsWhatIsNoAttempt(t *testing.T) {
	root := t.TempDir()
	attempt := create(t, root)
	for _, name := range []string{"job_2.1.delivered", "job_3.1", "other"} {
		if err := os.MkdirAll(filepath.Join(root, "spool", name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	found, err := spool.Spool{Root: root}.List()
	if err != nil || len(found) != 1 || found[0] != attempt {
		t.Errorf("got %v %v", found, err)
	}
	for _, name := range []string{"job_2.1.delivered", "job_3.1"} {
		if _, err := os.Stat(filepath.Join(root, "spool", name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there", name)
		}
	}
	if err := attempt.Remove(); err != nil {
		t.Fatal(err)
	}
	if found, err := (spool.Spool{Root: root}).List(); err != nil || len(found) != 0 {
		t.Errorf("after the removal: %v %v", found, err)
	}
}

func TestLockTellsTheLiving(t *testing.T) {
	attempt := create(t, t.TempDir())
	if alive, err := attempt.Alive(); alive || err != nil {
		t.Fatalf("before: %v %v", alive, err)
	}
	lock, err := attempt.TakeLock()
	if err != nil {
		t.Fatal(err)
	}
	if alive, err := attempt.Alive(); !alive || err != nil {
		t.Errorf("held: %v %v", alive, err)
	}
	if _, err := attempt.TakeLock(); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("taken twice: %v", err)
	}
	_ = lock.Close()
	if alive, err := attempt.Alive(); alive || err != nil {
		t.Errorf("after: %v %v", alive, err)
	}
}

func TestStatesInOrder(t *testing.T) {
	attempt := create(t, t.TempDir())
	for number := 1; number <= 11; number++ {
		if err := attempt.AddState(api.State{Serial: int64(number)}, number); err != nil {
			t.Fatal(err)
		}
	}
	files, err := attempt.States()
	if err != nil || len(files) != 11 {
		t.Fatal(files, err)
	}
	for i, file := range files {
		state, found, err := spool.LoadState(file)
		if err != nil || !found || state.Serial != int64(i+1) {
			t.Errorf("%s: %v %v %v", file, state.Serial, found, err)
		}
	}
	if err := errors.Join(spool.RemoveState(files[0]), spool.RemoveState(files[0]),
		spool.RejectState(files[1])); err != nil {
		t.Fatal(err)
	}
	if left, _ := attempt.States(); len(left) != 9 {
		t.Errorf("%d are left", len(left))
	}
	if refused, _ := attempt.RejectedStates(); len(refused) != 1 {
		t.Errorf("refused: %v", refused)
	}
	if _, found, err := spool.LoadState(files[0]); found || err != nil {
		t.Errorf("a delivered one: %v %v", found, err)
	}
}

// TestChunksAreTheSameAgain checks a log that grows in pieces, read by a shipper that may be
// replaced at any time and may or may not learn what arrived. The server gets every line once
// and in order, and no chunk is ever sent with another content than before.
func TestChunksAreTheSameAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp("", "chunks")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(root) }()
		attempt := create(t, root)
		log, err := attempt.OpenLog()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = log.Close() }()
		var written []string
		server := map[int64][]api.LogLine{}
		chunks, err := attempt.Chunks()
		if err != nil {
			t.Fatal(err)
		}
		ship := func(complete bool) int {
			got, err := chunks.Next(rapid.IntRange(1, 3).Draw(t, "most"), complete)
			if err != nil {
				t.Fatal(err)
			}
			for _, chunk := range got {
				if had, there := server[chunk.Seq]; there && cmp.Diff(had, chunk.Lines) != "" {
					t.Fatalf("chunk %d differs: %s", chunk.Seq, cmp.Diff(had, chunk.Lines))
				}
				if len(chunk.Lines) > 500 {
					t.Fatalf("chunk %d has %d lines", chunk.Seq, len(chunk.Lines))
				}
				server[chunk.Seq] = chunk.Lines
			}
			return len(got)
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"write", "ship", "unheard", "restart"}).Draw(t, "step") {
			case "write":
				long := rapid.IntRange(0, 300).Draw(t, "long")
				for range rapid.IntRange(1, 700).Draw(t, "lines") {
					message := fmt.Sprintf("%d %s", len(written), strings.Repeat("x", long))
					line, _ := json.Marshal(api.LogLine{T: time.Unix(int64(len(written)+1), 0).UTC(), L: api.Info, M: message})
					if _, err := log.Write(append(line, '\n')); err != nil {
						t.Fatal(err)
					}
					written = append(written, message)
				}
			case "ship":
				if err := chunks.MarkSent(ship(false)); err != nil {
					t.Fatal(err)
				}
			case "unheard":
				ship(false)
			case "restart":
				_ = chunks.Close()
				if chunks, err = attempt.Chunks(); err != nil {
					t.Fatal(err)
				}
			}
		}
		for n := ship(true); n > 0; n = ship(true) {
			if err := chunks.MarkSent(n); err != nil {
				t.Fatal(err)
			}
		}
		_ = chunks.Close()
		var got []string
		for seq := range len(server) {
			for _, line := range server[int64(seq+1)] {
				got = append(got, line.M)
			}
		}
		if diff := cmp.Diff(written, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestForeignAndTornLines(t *testing.T) {
	attempt := create(t, t.TempDir())
	log, err := attempt.OpenLog()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	good := `{"t":"2026-01-02T03:04:05Z","l":"loud","m":"a\u0000b"}`
	if _, err := log.WriteString(good + "\nno json\n\n" + `{"t":"2026-01-02T03:04:06Z","l":"inf`); err != nil {
		t.Fatal(err)
	}
	if err := attempt.AppendLines(api.Warn, "the end"); err != nil {
		t.Fatal(err)
	}
	// A power failure cut the index short before anything was sent.
	if err := os.WriteFile(filepath.Join(attempt.Dir, "chunks.ndjson"), []byte(`{"end":1`), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		chunks, err := attempt.Chunks()
		if err != nil {
			t.Fatal(err)
		}
		got, err := chunks.Next(9, true)
		if err != nil || len(got) != 1 || got[0].Seq != 1 {
			t.Fatal(got, err)
		}
		var lines []string
		for _, line := range got[0].Lines {
			lines = append(lines, string(line.L)+" "+line.M)
		}
		want := []string{"info a\uFFFDb", "warn no json", `warn {"t":"2026-01-02T03:04:06Z","l":"inf`, "warn the end"}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Error(diff)
		}
		if err := chunks.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestALineWithoutAnEnd(t *testing.T) {
	attempt := create(t, t.TempDir())
	if err := os.WriteFile(filepath.Join(attempt.Dir, "log.ndjson"), []byte(strings.Repeat("x", 70<<10)),
		0o600); err != nil {
		t.Fatal(err)
	}
	chunks, err := attempt.Chunks()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = chunks.Close() }()
	if got, err := chunks.Next(9, false); err != nil || len(got) != 1 || len(got[0].Lines[0].M) != 64<<10 {
		t.Fatalf("%d chunks, %v", len(got), err)
	}
	if got, err := chunks.Next(9, true); err != nil || len(got) != 2 || len(got[1].Lines[0].M) != 6<<10 {
		t.Fatalf("%d chunks, %v", len(got), err)
	}
}

func TestThisProcess(t *testing.T) {
	this := spool.ThisProcess()
	if this.PID != os.Getpid() || this != spool.ThisProcess() {
		t.Errorf("got %+v", this)
	}
}
