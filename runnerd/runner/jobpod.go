package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
	"github.com/nuon-toolkit/nuon/runnerd/jobpod"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// The variables of a runner that runs in a cluster.
const (
	// VarImage is the image of the runner, which the pods of its jobs run as well.
	VarImage = "NUON_RUNNER_IMAGE"
	// VarNode is the node on which the runner runs.
	VarNode = "NUON_RUNNER_NODE"
)

// newPods returns what the pods of this runner have in common.
func (r *runner) newPods(id, fingerprint string) *jobpod.Runner {
	return &jobpod.Runner{
		ID: id, Dir: r.Dir, KeyFile: KeyFile(r.Dir), Fingerprint: fingerprint, Command: r.Job,
		Image: os.Getenv(VarImage), Node: os.Getenv(VarNode),
		KubeConfig: cmp.Or(r.KubeConfig, os.Getenv(jobenv.VarKubeConfig)), Timing: r.Timing,
	}
}

// jobPod runs the job of an attempt as a pod of a cluster.
type jobPod struct {
	*attempt
	pod *jobpod.Pod
	// nextDelete is when the pod may be deleted again: a pod on a lost node never ends.
	nextDelete time.Time
}

// newExecutor returns the executor that an attempt was accepted for.
func newExecutor(a *attempt) executor {
	if len(a.record.Load().Executor) == 0 {
		return &jobProcess{attempt: a}
	}
	return &jobPod{attempt: a, pod: a.runner.pods.Open(a.dir, *a.record.Load(), a.log)}
}

// start creates the pod. It reads the spec first, because the account of the pod depends on the role of the job; a job
// whose spec the owner's rules forbid gets no pod.
func (p *jobPod) start(ctx context.Context) error {
	request, err := p.request(ctx)
	if err == nil {
		err = p.pod.Start(ctx, request)
	}
	if rejected := (*jobpod.RejectedError)(nil); errors.As(err, &rejected) {
		return errors.Join(p.dir.MarkStarted(time.Now()), p.fail(err))
	}
	return err
}

// request describes the pod.
func (p *jobPod) request(ctx context.Context) (made jobpod.Request, err error) {
	record := p.record.Load()
	if err := json.Unmarshal(record.Executor, &made.Executor); err != nil {
		return made, jobpod.Reject(fmt.Errorf("read where the job runs: %w", err))
	}
	spec, err := p.readSpec(ctx)
	if err != nil {
		return made, err
	}
	rule := policy.Rule{RunnerPolicy: record.Policy, Executor: made.Executor}
	if err := rule.CheckSpec(record.Kind, spec); err != nil {
		return made, jobpod.Reject(err)
	}
	if err := p.dir.SavePodSpec(spec); errors.Is(err, spool.ErrSpecTooLarge) {
		return made, jobpod.Reject(err)
	} else if err != nil {
		return made, err
	}
	isRole, err := p.chooseAccount(&made, rule, spec)
	if err != nil {
		return made, err
	}
	limits := record.Policy.Limits
	own := policy.Limits{Timeout: policy.Duration(time.Duration(limits.TimeoutSeconds) * time.Second)}
	made.Timeout = own.TimeoutOf(time.Duration(spec.TimeoutSeconds)*time.Second, p.runner.Timing.JobLimit)
	made.Memory = limits.MemoryBytes
	made.Environ = p.environ()
	made.Handover, err = p.handover(spec, isRole)
	return made, err
}

// readSpec reads the spec as the job process will, with the attempt token.
func (p *jobPod) readSpec(ctx context.Context) (api.JobSpec, error) {
	on, err := p.runner.connect(apiclient.StaticToken(seal.NewSecret([]byte(p.record.Load().Token))))
	if err != nil {
		return api.JobSpec{}, jobpod.Reject(err)
	}
	answer, err := on.short.GetSpecWithResponse(ctx, p.ref.Job, p.ref.Attempt)
	if err == nil {
		err = apiclient.CheckResponse("read what to do", answer.HTTPResponse, answer.Body)
	}
	if refusal := apiclient.AsResponseError(err); refusal != nil && !refusal.IsTemporary() {
		err = jobpod.Reject(err)
	}
	if err != nil {
		return api.JobSpec{}, err
	}
	if answer.JSON200 == nil {
		return api.JobSpec{}, jobpod.Reject(errors.New("read what to do: the response contains no spec"))
	}
	return *answer.JSON200, nil
}

// chooseAccount sets the account of the pod and what it gets. It reports whether the account is that of the job's role:
// then programs act as the account, and the job starts no session of the role.
func (p *jobPod) chooseAccount(made *jobpod.Request, rule policy.Rule, spec api.JobSpec) (isRole bool, err error) {
	own := spec.Kind == api.JobSpecKindBuild || spec.Kind == api.JobSpecKindSync
	made.OpensSealed = !own
	made.Changes = spec.Kind == api.JobSpecKindApply || spec.Kind == api.JobSpecKindAction
	made.ServiceAccount, isRole = rule.AccountOf(spec)
	made.Token = made.ServiceAccount != "" && !own
	if !isRole {
		return false, nil
	}
	return true, p.dir.AppendLines(api.Info, fmt.Sprintf("programs of this job act as the service account %s (%s)",
		made.ServiceAccount, spec.Role.Operation))
}

// environ returns the variables of the container. Everything else is handed over with the secrets.
func (p *jobPod) environ() map[string]string {
	gcName, gcOff, _ := strings.Cut(job.GCOff, "=")
	return map[string]string{
		gcName:         gcOff,
		job.VarURL:     p.url(),
		job.VarDir:     p.dir.Dir,
		job.VarRoot:    p.runner.Dir,
		job.VarSecrets: p.dir.HandoverFile(),
		job.VarKeyFile: KeyFile(p.runner.Dir),
	}
}

// handover returns what the job process takes when it starts: the secrets, and the variables that a job process of the
// machine gets, without those of paths and of the runner's own identity. A pod has its own.
func (p *jobPod) handover(spec api.JobSpec, ownIdentity bool) (_ []byte, err error) {
	secrets := p.secrets()
	if secrets.SpecDigest, err = job.SpecDigest(spec); err != nil {
		return nil, err
	}
	secrets.OwnIdentity = ownIdentity
	for _, entry := range jobenv.JobEnv(os.Environ(), false, p.runner.PassEnv) {
		name, value, _ := strings.Cut(entry, "=")
		if name != "PATH" && name != "HOME" && name != "TMPDIR" {
			secrets.Environ[name] = value
		}
	}
	for _, name := range passedVariables {
		if value, found := os.LookupEnv(name); found {
			secrets.Environ[name] = value
		}
	}
	if file := os.Getenv(jobenv.VarKubeConfig); file != "" && slices.Contains(p.runner.PassEnv, jobenv.VarKubeConfig) {
		secrets.Environ[job.VarKubeConfig] = file // the owner knows that pods have it
	}
	return secrets.Handover()
}

func (p *jobPod) alive(ctx context.Context) (bool, error) { return p.pod.Alive(ctx) }

func (p *jobPod) changes() <-chan struct{} { return p.pod.Changes() }

// memory returns zero: the cluster limits the memory of the container.
func (p *jobPod) memory() (int64, error) { return 0, nil }

// interrupt deletes the pod; the kubelet kills what has not ended after the grace period.
func (p *jobPod) interrupt(ctx context.Context) bool {
	if time.Now().Before(p.nextDelete) {
		return false
	}
	done, err := p.pod.Interrupt(ctx, p.runner.Timing.JobGrace)
	if err != nil {
		p.log.Warn("cannot interrupt the job", "error", err)
		p.nextDelete = time.Now().Add(p.runner.Timing.HeartbeatInterval)
	}
	return done && err == nil
}

// kill shortens the grace period. It is called until the pod has ended.
func (p *jobPod) kill(ctx context.Context) error {
	if time.Now().Before(p.nextDelete) {
		return nil
	}
	p.nextDelete = time.Now().Add(p.runner.Timing.HeartbeatInterval)
	if _, err := p.pod.Interrupt(ctx, time.Second); err != nil {
		p.log.Warn("cannot kill the job", "error", err)
	}
	return nil
}

func (p *jobPod) finish(ctx context.Context) error {
	if _, found, err := p.dir.Pod(); err != nil || !found {
		return err // it was rejected before a pod was described
	}
	return p.pod.Finish(ctx)
}

// describePod returns how a pod ended whose job process left no result.
func describePod(pod spool.Pod) string {
	ended := pod.Ended
	if ended == nil || ended.Proof == spool.ProofNotStarted {
		return ""
	}
	text := strings.Trim(ended.Reason+": "+ended.Message, ": ")
	if ended.Proof == spool.ProofKubelet && ended.ExitCode != 0 {
		text = strings.TrimPrefix(fmt.Sprintf("%s (exit code %d)", text, ended.ExitCode), " ")
	}
	return fmt.Sprintf("; pod %s on %s: %s", pod.Name, cmp.Or(pod.Node, "no node"), text)
}
