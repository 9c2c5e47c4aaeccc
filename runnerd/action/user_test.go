package action

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/runnerd/subprocess/childtest"
)

// TestStepsOfAnotherUser checks that, where programs run as another user, steps share their
// directory, return outputs and can read the runner's kubeconfig, but cannot replace files
// that root reads or runs next.
func TestStepsOfAnotherUser(t *testing.T) {
	root := childtest.UseOtherUser(t)
	r := newRig(t)
	r.env.Root, r.env.Dir = root, filepath.Join(root, "spool", "job_1.1")
	if err := os.MkdirAll(r.env.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r.env.KubeConfig = filepath.Join(root, "kubeconfig")
	if err := os.WriteFile(r.env.KubeConfig, []byte("token: a-token-of-the-cluster\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.env.Spec.Action.KubeConfig = true
	got, err := r.run(t.Context(),
		script("first", `
echo "user=$(id -u)" >>$NUON_ACTIONS_OUTPUT_FILEPATH
echo one >$NUON_ACTIONS_ROOT/left
echo x >$TMPDIR/x
cat $KUBECONFIG
tries=
for try in "rm -f $NUON_ACTIONS_OUTPUT_FILEPATH" "ln -sf /etc/passwd $NUON_ACTIONS_OUTPUT_FILEPATH" "mv $NUON_ACTIONS_OUTPUT_FILEPATH x" \
	"touch $NUON_ACTIONS_ROOT/../outputs-2" "ln -s /etc/passwd $NUON_ACTIONS_ROOT/../script-2" "rm -f $0" "mv $NUON_ACTIONS_ROOT $NUON_ACTIONS_ROOT/../moved"; do
	$try 2>/dev/null && tries="$tries|$try"
done
echo "tries=$tries" >>$NUON_ACTIONS_OUTPUT_FILEPATH
`),
		script("second", `echo "left=$(cat $NUON_ACTIONS_ROOT/left)" >>$NUON_ACTIONS_OUTPUT_FILEPATH`))
	if err != nil {
		t.Fatal(err, r.log)
	}
	if got["user"] != `"65534"` || got["left"] != `"one"` || got["tries"] != `""` {
		t.Errorf("got %v", got)
	}
	if strings.Contains(r.log.String(), "a-token-of-the-cluster") || !strings.Contains(r.log.String(), "token: ") {
		t.Errorf("the cluster's file is not shown, or not masked:\n%s", r.log)
	}
}
