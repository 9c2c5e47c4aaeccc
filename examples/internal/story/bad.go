package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// This file contains the commands of stories about failures.

// code runs nuon and checks its exit code: code 2 nuon ….
func (s *teller) code(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	fmt.Fprintf(s.loud, "\n\033[36m$ %s\033[0m   \033[2m(exit code %d)\033[0m\n", shellWords(args[1:]), want)
	err = s.run(ts, args[2:])
	s.show(ts)
	got := 0
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) {
		got = exited.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s: exit code %d, want %d", shellWords(args[1:]), got, want)
	}
}

// count checks the number of items in a list: count 3 nuon builds list ….
func (s *teller) count(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Check(s.run(ts, append(args[2:], "-o", "json")))
	var items []json.RawMessage
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &items))
	if len(items) != want {
		ts.Fatalf("%s: %d, want %d:\n%s", shellWords(args[1:]), len(items), want, ts.ReadFile("stdout"))
	}
}

// keep sets a variable to a field of JSON from nuon or a file: keep NAME FIELD.FIELD nuon …, or
// keep NAME FIELD FILE. In a list, a field is an index from 0.
func (s *teller) keep(ts *testscript.TestScript, _ bool, args []string) {
	text := ""
	if args[2] == "nuon" {
		ts.Check(ts.Exec("nuon", append(args[3:], "-o", "json")...))
		text = ts.ReadFile("stdout")
	} else {
		text = ts.ReadFile(args[2])
	}
	var at any
	ts.Check(json.Unmarshal([]byte(text), &at))
	for field := range strings.SplitSeq(args[1], ".") {
		switch now := at.(type) {
		case map[string]any:
			at = now[field]
		case []any:
			index, err := strconv.Atoi(field)
			ts.Check(err)
			if at = nil; index < len(now) {
				at = now[index]
			}
		}
	}
	value, ok := at.(string)
	if !ok || value == "" {
		ts.Fatalf("%s has no text %s:\n%s", shellWords(args[2:]), args[1], text)
	}
	ts.Setenv(args[0], value)
}

// org creates another org beside that of `nuon dev`, and stores an admin's token for it: org NAME
// VARIABLE.
func (s *teller) org(ts *testscript.TestScript, _ bool, args []string) {
	data := filepath.Join(ts.Getenv("WORK"), "dev")
	dsn, err := database(data)
	ts.Check(err)
	ts.Check(ts.Exec("reconciler", "bootstrap", "--database-url", dsn, "--key-file", filepath.Join(data, "server.key"),
		"--org", args[0]))
	ts.Setenv(args[1], strings.TrimSpace(ts.ReadFile("stdout")))
}

// webhook sends a delivery to the webhook of HOOK_PATH and HOOK_SECRET, and checks the status:
// webhook 202 signed. A delivery is unsigned, signed, or a repetition of the last signed one.
func (s *teller) webhook(ts *testscript.TestScript, _ bool, args []string) {
	body := `{"repository": "file://` + ts.Getenv("ORIGIN") + `", "ref": "main", "note": "` + ts.Getenv("HOOK_NOTE") + `"}`
	header := http.Header{}
	if args[1] == "signed" {
		ts.Setenv("HOOK_TIME", strconv.FormatInt(time.Now().Unix(), 10))
	}
	if args[1] != "unsigned" {
		// Signed by the instructions of `nuon webhooks create --forge nuon`, as a vendor's CI would
		// do it, and not by the code that verifies it.
		mac := hmac.New(sha256.New, []byte(ts.Getenv("HOOK_SECRET")))
		mac.Write([]byte(ts.Getenv("HOOK_TIME") + "." + body))
		header.Set("X-Nuon-Timestamp", ts.Getenv("HOOK_TIME"))
		header.Set("X-Nuon-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	s.post(ts, args[0], ts.Getenv("HOOK_PATH"), header, []byte(body), "")
}

// upload sends an archive as the config of an app, and checks the status and the message:
// upload 422 APP climbing 'regexp'.
func (s *teller) upload(ts *testscript.TestScript, _ bool, args []string) {
	header := http.Header{"Content-Type": {"application/gzip"}, "Authorization": {"Bearer " + s.token(ts)}}
	s.post(ts, args[0], "/v1/apps/"+args[1]+"/versions", header, archive(ts, args[2]), args[3])
}

// archive returns an archive that must be refused.
func archive(ts *testscript.TestScript, kind string) []byte {
	const content = "version = \"v2\"\n"
	entry, known := map[string]tar.Header{
		"climbing": {Name: "../../metadata.toml", Typeflag: tar.TypeReg, Size: int64(len(content)), Mode: 0o644},
		"absolute": {Name: "/metadata.toml", Typeflag: tar.TypeReg, Size: int64(len(content)), Mode: 0o644},
		"linking":  {Name: "metadata.toml", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd", Mode: 0o777},
	}[kind]
	if !known {
		return []byte(kind) // not an archive
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	t := tar.NewWriter(z)
	err := t.WriteHeader(&entry)
	if entry.Size > 0 {
		_, err = io.WriteString(t, content)
	}
	ts.Check(errors.Join(err, t.Close(), z.Close()))
	return out.Bytes()
}

// token returns the token of the context that `nuon dev` created.
func (s *teller) token(ts *testscript.TestScript) string {
	var file contexts.File
	ts.Check(toml.Unmarshal([]byte(ts.ReadFile(ts.Getenv("NUON_CONFIG"))), &file))
	return file.Contexts[file.Current].Token
}

// post sends a request to the control API at CONTROL_URL, and checks the status and, unless pattern
// is empty, the body.
func (s *teller) post(ts *testscript.TestScript, status, path string, header http.Header, body []byte, pattern string) {
	request, err := http.NewRequest(http.MethodPost, ts.Getenv("CONTROL_URL")+path, bytes.NewReader(body))
	ts.Check(err)
	request.Header = header
	answer, err := http.DefaultClient.Do(request)
	ts.Check(err)
	defer answer.Body.Close() //nolint:errcheck // only read
	said, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	ts.Check(err)
	fmt.Fprintf(s.loud, "\n\033[36m$ POST %s\033[0m\n  %s %s\n", path, answer.Status, said)
	if strconv.Itoa(answer.StatusCode) != status {
		ts.Fatalf("POST %s: %s, want %s: %s", path, answer.Status, status, said)
	}
	if pattern != "" && !regexp.MustCompile(pattern).Match(said) {
		ts.Fatalf("POST %s does not say %q: %s", path, pattern, said)
	}
}

// page reads a page of the system's metrics port, and stores it with the output of the commands:
// page /metrics 'regexp'.
func (s *teller) page(ts *testscript.TestScript, _ bool, args []string) {
	address := ts.Getenv("INSIGHT_URL") + args[0]
	answer, err := http.Get(address) //nolint:noctx // a story has no context, and its system is on this machine
	ts.Check(err)
	defer answer.Body.Close() //nolint:errcheck // only read
	said, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	ts.Check(err)
	s.said.Write(said)
	if answer.StatusCode != http.StatusOK || !regexp.MustCompile(args[1]).Match(said) {
		ts.Fatalf("GET %s: %s, and no %q in it: %s", address, answer.Status, args[1], said)
	}
}

// lastShown limits how much of what a terminal showed is quoted where a story fails, in bytes: one
// that redraws until the limit shows megabytes.
const lastShown = 4000

// terminal runs nuon on a terminal that answers no queries, and checks the exit code, the output,
// and that the terminal is restored: terminal 0 'regexp' nuon …. For exit code 130 it presses
// Ctrl-C once nuon has shown that text; a command that waits must then print how to continue.
func (s *teller) terminal(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	fmt.Fprintf(s.loud, "\n\033[36m$ %s\033[0m   \033[2m(on a terminal)\033[0m\n", shellWords(args[2:]))
	command := exec.Command(filepath.Join(s.bin, "nuon"), args[3:]...)
	for _, name := range []string{"HOME", "NUON_CONFIG", "PATH", "NUON_PAGER"} {
		command.Env = append(command.Env, name+"="+ts.Getenv(name))
	}
	command.Env = append(command.Env, "TERM=xterm-256color")
	until, seen, found := regexp.MustCompile(args[1]), []byte(nil), false
	shown, err := onTerminal(command, testtime.Limit, func(part []byte, press func(string)) {
		if seen = append(seen, part...); !found && until.Match(seen) {
			if found = true; want == 130 {
				press("\x03")
			}
		}
	})
	s.said.Write(shown)
	if err == nil && !found {
		err = fmt.Errorf("it did not show %q", until)
	}
	if err != nil {
		ts.Fatalf("%s: %v; it showed at last %q", shellWords(args[2:]), err, shown[max(0, len(shown)-lastShown):])
	}
	switch got := command.ProcessState.ExitCode(); {
	case got != want:
		ts.Fatalf("%s: exit code %d, want %d; it showed %q", shellWords(args[2:]), got, want, shown)
	case want == 130 && (slices.Contains(args, "--wait") || slices.Contains(args, "watch")) &&
		!bytes.Contains(shown, []byte("stopped waiting: ")):
		ts.Fatalf("%s prints nothing about what continues after Ctrl-C: %q", shellWords(args[2:]), shown)
	case bytes.Contains(shown, []byte("\x1b]11;?")) || bytes.Contains(shown, []byte("\x1b[6n")):
		ts.Fatalf("%s asks the terminal questions: %q", shellWords(args[2:]), shown)
	case bytes.LastIndex(shown, []byte("\x1b[?25l")) > bytes.LastIndex(shown, []byte("\x1b[?25h")):
		ts.Fatalf("%s leaves the cursor hidden: %q", shellWords(args[2:]), shown)
	}
}
