package jobpod_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/jobpod"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// apiServer is what a runner takes for the API server of its cluster.
type apiServer struct {
	mutex  sync.Mutex
	pods   []corev1.Pod
	now    []corev1.Pod // what a get of a pod finds
	nodes  map[string]bool
	claim  string // the uid of the claim; empty for none
	broken bool   // a load balancer answers everything but lists with 404
}

// ServeHTTP answers lists, gets and watches without an event.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	parts := strings.Split(r.URL.Path, "/")
	kind, name := parts[len(parts)-1], ""
	if kind != "pods" {
		kind, name = parts[len(parts)-2], kind
	}
	var found any
	switch kind {
	case "pods":
		for _, pod := range s.now {
			if pod.Name == name {
				found = pod
			}
		}
		if name == "" {
			found = corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"},
				ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: s.pods}
		}
	case "nodes":
		if s.nodes[name] {
			found = corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
		}
	case "persistentvolumeclaims":
		if s.claim != "" {
			found = corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(s.claim)}}
		}
	}
	switch {
	case r.URL.Query().Get("sendInitialEvents") != "":
		s.refuse(w, metav1.Status{Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity})
	case r.URL.Query().Get("watch") != "":
		s.mutex.Unlock()
		<-r.Context().Done()
		s.mutex.Lock()
	case s.broken && kind != "pods":
		http.Error(w, "default backend - 404", http.StatusNotFound)
	case found == nil:
		s.refuse(w, metav1.Status{Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(found)
	}
}

func (s *apiServer) refuse(w http.ResponseWriter, status metav1.Status) {
	status.Kind, status.APIVersion, status.Status = "Status", "v1", metav1.StatusFailure
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status)
}

// pod returns a pod of the Job, whose container runs or has terminated.
func pod(uid string, terminated bool) corev1.Pod {
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	if terminated {
		state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	}
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod-" + uid, UID: types.UID(uid), ResourceVersion: "1"},
		Spec:       corev1.PodSpec{NodeName: "node"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "job", State: state}}},
	}
}

// waiting returns a pod of the Job that has no node.
func waiting(uid string) corev1.Pod {
	waits := pod(uid, false)
	waits.Spec.NodeName, waits.Status = "", corev1.PodStatus{Phase: corev1.PodPending}
	return waits
}

// open returns the pod of a job process that has taken what it needs, so that it may run. The runner has seen the pod
// with the uid, if it is not empty.
func open(t *testing.T, api *apiServer, uid string) (*jobpod.Pod, spool.Attempt) {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	root := t.TempDir()
	record := spool.Record{Job: "job_1", Attempt: 1}
	dir, err := spool.Spool{Root: root}.Create(record)
	if err != nil {
		t.Fatal(err)
	}
	seen := spool.Pod{Namespace: "jobs", Job: "nuon-job-1", Created: true, Claim: "runner", ClaimUID: known}
	if uid != "" {
		seen.Name, seen.UID, seen.Node = "pod-"+uid, uid, "node"
	}
	kubeconfig := filepath.Join(root, "kubeconfig")
	text := fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, "+
		"clusters: [{name: c, cluster: {server: %q}}], "+
		"contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {}}]}", server.URL)
	for _, err := range []error{dir.SavePod(seen), dir.MarkStarted(time.Now()),
		os.WriteFile(kubeconfig, []byte(text), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	runner := &jobpod.Runner{ID: "run_1", Dir: root, KubeConfig: kubeconfig, Timing: timing.Timing{PodStart: time.Hour}}
	return runner.Open(dir, record, slog.New(slog.DiscardHandler)), dir
}

const known = "the uid of the claim"

// TestConfirmationOfAPodThatIsHeardAgain checks that a confirmation that came too late does not count later.
func TestConfirmationOfAPodThatIsHeardAgain(t *testing.T) {
	t.Parallel()
	ready := pod("a", false)
	ready.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	p, dir := open(t, &apiServer{claim: known, pods: []corev1.Pod{ready}}, "a")
	if err := dir.ConfirmEnded(time.Now()); err != nil {
		t.Fatal(err)
	}
	testtime.Until(t, "the confirmation is forgotten", func() bool {
		if alive, err := p.Alive(t.Context()); !alive || err != nil {
			t.Fatalf("alive: %t, %v", alive, err)
		}
		return !dir.IsConfirmedEnded()
	})
}

// TestNoProof checks reports that look like the end of a job process and are not: the runner reports nothing.
func TestNoProof(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		server   *apiServer
		uid      string
		proof    string // empty for none
		unproven string
	}{
		"the node is removed": {server: &apiServer{claim: known}, uid: "a", proof: spool.ProofNode},
		"the kubeconfig names another cluster": {server: &apiServer{claim: "another"}, uid: "a",
			unproven: "it may be another cluster"},
		"the kubeconfig names a cluster without the namespace": {server: &apiServer{}, uid: "a",
			unproven: "it may be another cluster"},
		"a load balancer answers for the API server": {server: &apiServer{claim: known, broken: true}, uid: "a"},
		"the Job has a second pod, which ended": {server: &apiServer{claim: known, nodes: map[string]bool{"node": true},
			pods: []corev1.Pod{pod("a", false), pod("b", true)}}},
		"the Job has a second pod, which the runner saw first": {server: &apiServer{claim: known,
			nodes: map[string]bool{"node": true}, pods: []corev1.Pod{pod("a", false), pod("b", true)}}, uid: "b"},
		"both pods ended": {server: &apiServer{claim: known, pods: []corev1.Pod{pod("a", true), pod("b", true)}}, uid: "b",
			proof: spool.ProofKubelet},
		"the node is removed, and the Job has a second pod without a node": {server: &apiServer{claim: known,
			pods: []corev1.Pod{waiting("b")}, now: []corev1.Pod{waiting("b")}}, uid: "a", proof: spool.ProofNode},
		"the node is removed, and the second pod got one": {server: &apiServer{claim: known,
			nodes: map[string]bool{"node": true}, pods: []corev1.Pod{pod("b", true), waiting("a")},
			now: []corev1.Pod{pod("a", false)}}, uid: "b"},
		"what is followed is late": {server: &apiServer{claim: known, nodes: map[string]bool{"node": true},
			pods: []corev1.Pod{waiting("a")}, now: []corev1.Pod{pod("a", false)}}},
		"the pod was never seen": {server: &apiServer{claim: known, pods: []corev1.Pod{waiting("b")},
			now: []corev1.Pod{waiting("b")}}, unproven: "removed before this runner saw it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, dir := open(t, test.server, test.uid)
			checks := 0
			testtime.Until(t, "the pods were judged", func() bool {
				alive, err := p.Alive(t.Context())
				now, _, readErr := dir.Pod()
				if readErr != nil {
					t.Fatal(readErr)
				}
				if !alive {
					if now.Ended == nil || now.Ended.Proof != test.proof {
						t.Fatalf("the proof is %+v", now.Ended)
					}
					return true
				}
				switch {
				case test.unproven != "":
					if strings.Contains(now.Unproven, test.unproven) {
						checks++
					}
				case now.Unproven != "":
					t.Fatal(now.Unproven)
				case err != nil, now.UID == "a" && now.Node == "node" && len(test.server.pods) > 0:
					checks++
				}
				return test.proof == "" && checks > 2
			})
		})
	}
}
