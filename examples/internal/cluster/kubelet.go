package main

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/nuon-toolkit/nuon/examples/internal/cluster/image"
)

// kubelet runs a worker for each pod of the node.
type kubelet struct {
	client  kubernetes.Interface
	factory informers.SharedInformerFactory
	pods    corelisters.PodLister
	events  record.EventRecorder
	report  record.EventBroadcaster
	logs    logs
	homes   string // the directory with the homes of pods
	// Of real containers: the unpacked images and their directory, the directories of pods, and why there are none.
	images             *image.Store
	imagesDir, podsDir string
	unable             error
	apiPort            int

	mu      sync.Mutex
	workers map[types.UID]*worker
	runs    map[runKey]*containerRun // those that run now
	working sync.WaitGroup
}

func newKubelet(client kubernetes.Interface, d *directory, unable error) *kubelet {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", nodeName).String()
		}))
	report := record.NewBroadcaster()
	return &kubelet{
		client: client, factory: factory, pods: factory.Core().V1().Pods().Lister(), report: report,
		events: report.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kubelet", Host: nodeName}),
		logs:   logs{d.path(logsName)}, homes: d.path(homesName), workers: map[types.UID]*worker{},
		images: image.NewStore(d.path(imagesName)), imagesDir: d.path(imagesName), podsDir: d.path(podsName),
		unable: unable, apiPort: d.port(), runs: map[runKey]*containerRun{},
	}
}

// run runs the workers until ctx ends, and waits until their processes have ended.
func (k *kubelet) run(ctx context.Context) error {
	k.report.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: k.client.CoreV1().Events("")})
	defer k.report.Shutdown()
	see := func(o any) {
		if gone, is := o.(cache.DeletedFinalStateUnknown); is {
			o = gone.Obj
		}
		if pod, is := o.(*corev1.Pod); is {
			k.see(ctx, pod)
		}
	}
	_, err := k.factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: see, UpdateFunc: func(_, now any) { see(now) }, DeleteFunc: see,
	})
	if err != nil {
		return err
	}
	k.factory.Start(ctx.Done())
	<-ctx.Done()
	k.factory.Shutdown()
	k.working.Wait()
	return nil
}

// see wakes the worker of a created, changed or deleted pod, and starts a worker for a new pod.
func (k *kubelet) see(ctx context.Context, pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := k.workers[pod.UID]
	if w == nil {
		w = newWorker(k, pod)
		k.workers[pod.UID] = w
		k.working.Go(func() {
			w.run(ctx)
			k.mu.Lock()
			defer k.mu.Unlock()
			delete(k.workers, w.uid)
		})
	}
	w.rouse()
}

// pod returns the current state of the pod, or nil if it is gone or another pod has its name.
func (k *kubelet) pod(namespace, name string, uid types.UID) *corev1.Pod {
	pod, err := k.pods.Pods(namespace).Get(name)
	if err != nil || pod.UID != uid {
		return nil
	}
	return pod
}

// backoff returns the pause before a restart. It doubles from a second to longestPause.
func backoff(restarts int32) time.Duration {
	return min(pause<<min(restarts, 10), longestPause)
}
