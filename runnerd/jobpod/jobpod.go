package jobpod

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// Runner is what the pods of one runner have in common.
type Runner struct {
	// ID is the runner's id, and Dir its own directory.
	ID, Dir string
	// KeyFile is the path of the install key, and Fingerprint that key's fingerprint.
	KeyFile, Fingerprint string
	// Command starts a job process.
	Command []string
	// Image is the image of the pods where the runner file names none, and Node the node of the runner; each empty if
	// that is unknown.
	Image, Node string
	// KubeConfig is the path of the kubeconfig of the cluster; empty for the cluster that the runner runs in.
	KubeConfig string
	Timing     timing.Timing

	once      sync.Once
	client    kubernetes.Interface
	namespace string // of the runner
	err       error
}

// accountNamespace is the file with the namespace of the pod that reads it.
const accountNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// requestTimeout bounds one request to the API server.
const requestTimeout = 30 * time.Second

// connect returns the client of the cluster.
func (r *Runner) connect() (kubernetes.Interface, error) {
	r.once.Do(func() {
		var config *rest.Config
		if config, r.namespace, r.err = r.config(); r.err != nil {
			r.err = fmt.Errorf("reach the cluster of [executor] in the runner file: %w; run runnerd in that cluster, or "+
				"name a kubeconfig with --kubeconfig", r.err)
			return
		}
		config.QPS, config.Burst = 50, 100
		r.client, r.err = kubernetes.NewForConfig(config)
	})
	return r.client, r.err
}

// config returns the access to the cluster and the runner's own namespace.
func (r *Runner) config() (config *rest.Config, namespace string, err error) {
	if r.KubeConfig == "" {
		text, _ := os.ReadFile(accountNamespace) // without it the runner file has to name one
		config, err = rest.InClusterConfig()
		return config, strings.TrimSpace(string(text)), err
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: r.KubeConfig}, nil)
	if namespace, _, err = loader.Namespace(); err == nil {
		config, err = loader.ClientConfig()
	}
	return config, namespace, err
}

// Request describes the pod of an attempt.
type Request struct {
	// Executor is the section of the runner file, as it was when the attempt was accepted.
	Executor policy.Executor
	// ServiceAccount is the account of the pod; empty for the namespace's default account. Token mounts its token.
	ServiceAccount string
	Token          bool
	// OpensSealed mounts the install key, and Changes forbids autoscalers to evict the pod.
	OpensSealed, Changes bool
	// Environ holds the variables of the container, none of which may be a secret. Handover is what the job process
	// takes from the attempt's spool when it starts.
	Environ  map[string]string
	Handover []byte
	// Timeout is how long the job may run, and Memory the limit of its memory in bytes; zero for none.
	Timeout time.Duration
	Memory  int64
}

// Pod runs the job process of one attempt. It is for one goroutine.
type Pod struct {
	runner  *Runner
	dir     spool.Attempt
	record  spool.Record
	log     *slog.Logger
	request Request // zero in a runnerd that did not start the pod
	client  kubernetes.Interface
	seen    spool.Pod // as it is on disk

	watched   *watched
	startBy   time.Time // when a pod that has not started is given up
	nextCheck time.Time // of what is not watched: the Job and the node
	said      string    // the last problem in the log
}

// Open returns the pod of an attempt.
func (r *Runner) Open(dir spool.Attempt, record spool.Record, log *slog.Logger) *Pod {
	return &Pod{runner: r, dir: dir, record: record, log: log}
}

func (p *Pod) name() string { return fmt.Sprintf("%s/%d", p.record.Job, p.record.Attempt) }

// RejectedError is an error that another try would get as well.
type RejectedError struct{ err error }

// Reject marks an error that another try would get as well.
func Reject(err error) error { return &RejectedError{err} }

// Error returns the text of the error.
func (e *RejectedError) Error() string { return e.err.Error() }

// Unwrap returns the error.
func (e *RejectedError) Unwrap() error { return e.err }

// explain returns an error with what was tried. It is a RejectedError if another try does not help.
func (p *Pod) explain(what string, err error) error {
	err = fmt.Errorf("%s of %s in the namespace %s: %w", what, p.name(), p.seen.Namespace, err)
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsNotFound(err) {
		return Reject(err)
	}
	return err
}

// Start creates the Job of the attempt, unless it is there. After a RejectedError nothing is recorded; after any other
// error the Job may be there, and Alive creates it if it is not.
func (p *Pod) Start(ctx context.Context, request Request) error {
	var err error
	if p.client, err = p.runner.connect(); err != nil {
		return Reject(err)
	}
	p.request = request
	namespace := request.Executor.Namespace
	if namespace == "" {
		namespace = p.runner.namespace
	}
	p.seen = spool.Pod{Namespace: namespace, Job: jobName(p.runner.ID, p.record.Job, p.record.Attempt)}
	switch {
	case namespace == "":
		return Reject(errors.New("the runner does not run in a cluster, and its runner file names no namespace in " +
			"[executor]; name one"))
	case p.image() == "":
		return Reject(errors.New("nothing names the image of the pods of jobs; name it with image in [executor] of " +
			"the runner file, or with NUON_RUNNER_IMAGE"))
	}
	if err := errors.Join(p.makeDirs(), p.dir.SaveHandover(request.Handover)); err != nil {
		return err
	}
	if err := errors.Join(p.dir.SavePod(p.seen), p.dir.MarkStarted(time.Now())); err != nil {
		return err
	}
	err = p.create(ctx)
	if rejected := (*RejectedError)(nil); errors.As(err, &rejected) {
		_, err = p.proveNotStarted(ctx, spool.PodEnd{Message: err.Error(), Failed: true})
	}
	return err
}

// makeDirs makes what the pod mounts, so that it belongs to this user and not to the kubelet.
func (p *Pod) makeDirs() error {
	for _, dir := range sharedDirs {
		if err := os.MkdirAll(filepath.Join(p.runner.Dir, dir), 0o700); err != nil {
			return fmt.Errorf("make the directories of jobs: %w", err)
		}
	}
	return nil
}

// create creates the Job. A Job of that name is that of this attempt.
func (p *Pod) create(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	node, err := p.onlyNode(ctx)
	if err != nil {
		return err
	}
	if p.request.OpensSealed {
		if err := p.ensureKey(ctx); err != nil {
			return err
		}
	}
	jobs := p.client.BatchV1().Jobs(p.seen.Namespace)
	_, err = jobs.Create(ctx, p.manifest(node), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		there, getErr := jobs.Get(ctx, p.seen.Job, metav1.GetOptions{})
		if err = getErr; err == nil && there.Annotations[annotationAttempt] != p.name() {
			return Reject(fmt.Errorf("the Job %s in the namespace %s is not of this attempt; delete it", p.seen.Job,
				p.seen.Namespace))
		}
	}
	if err != nil {
		return p.explain("create the Job", err)
	}
	p.seen.Created = true
	return p.dir.SavePod(p.seen)
}

// onlyNode records the claim. It returns the node to which the volume of the claim is bound: that of the runner, which
// has it mounted; empty for a volume that many nodes can mount.
func (p *Pod) onlyNode(ctx context.Context) (string, error) {
	claim, err := p.client.CoreV1().PersistentVolumeClaims(p.seen.Namespace).Get(ctx, p.request.Executor.Claim,
		metav1.GetOptions{})
	if err != nil {
		return "", p.explain("read the claim "+p.request.Executor.Claim+" for the Job", err)
	}
	p.seen.Claim, p.seen.ClaimUID = claim.Name, string(claim.UID)
	if err := p.dir.SavePod(p.seen); err != nil {
		return "", err
	}
	if slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteMany) {
		return "", nil
	}
	if p.runner.Node == "" {
		return "", Reject(fmt.Errorf("only one node at a time can mount the volume of the claim %s, and the runner "+
			"does not know which node it runs on; set NUON_RUNNER_NODE to spec.nodeName of its pod, or use a claim with "+
			"ReadWriteMany", claim.Name))
	}
	return p.runner.Node, nil
}

// ensureKey creates the Secret with the install key, which nothing changes.
func (p *Pod) ensureKey(ctx context.Context) error {
	content, err := os.ReadFile(p.runner.KeyFile)
	if err != nil {
		return fmt.Errorf("read the install key: %w", err)
	}
	_, err = p.client.CoreV1().Secrets(p.seen.Namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: keySecret(p.runner.Fingerprint),
			Labels: map[string]string{labelManager: manager}},
		Immutable: new(true), Data: map[string][]byte{filepath.Base(p.runner.KeyFile): content},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return p.explain("create the Secret with the install key for the Job", err)
	}
	return nil
}

// load reads what is on disk about an attempt that an earlier runnerd started.
func (p *Pod) load() error {
	if p.seen.Job != "" && p.client != nil {
		return nil
	}
	seen, found, err := p.dir.Pod()
	if err == nil && !found {
		err = fmt.Errorf("read the pod of %s: %w", p.name(), fs.ErrNotExist)
	}
	if err != nil {
		return err
	}
	p.seen = seen
	p.client, err = p.runner.connect()
	return err
}
