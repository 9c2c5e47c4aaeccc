package jobpod

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// watched follows the pods of one Job, so that a change is seen at once and without a request.
type watched struct {
	store   cache.Store
	synced  func() bool
	changed chan struct{} // has an element after a change
	stop    context.CancelFunc
}

// follow starts to follow the pods of a Job, until stop or the end of ctx.
func follow(ctx context.Context, client kubernetes.Interface, namespace, job string) *watched {
	ctx, stop := context.WithCancel(ctx)
	w := &watched{changed: make(chan struct{}, 1), stop: stop}
	pods, selector := client.CoreV1().Pods(namespace), labelJob+"="+job
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				o.LabelSelector = selector
				return pods.List(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				o.LabelSelector = selector
				return pods.Watch(ctx, o)
			},
		},
		ObjectType: &corev1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { w.wake() }, UpdateFunc: func(any, any) { w.wake() }, DeleteFunc: func(any) { w.wake() },
		},
	})
	w.store, w.synced = store, controller.HasSynced
	go controller.RunWithContext(ctx) // until stop, or the end of ctx
	return w
}

func (w *watched) wake() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// pod returns the pod with a uid, or any pod of the Job if the uid is empty; nil if there is none.
func (w *watched) pod(uid string) *corev1.Pod {
	for _, object := range w.store.List() {
		if pod, is := object.(*corev1.Pod); is && (uid == "" || string(pod.UID) == uid) {
			return pod
		}
	}
	return nil
}

// others returns the pods of the Job that may run and do not have the uid.
func (w *watched) others(uid string) (all []*corev1.Pod) {
	for _, object := range w.store.List() {
		if pod, is := object.(*corev1.Pod); is && string(pod.UID) != uid && mayRun(pod) {
			all = append(all, pod)
		}
	}
	return all
}

// mayRun reports whether the job process of a pod may run or start. A pod that is deleted before it has a node never
// gets one.
func mayRun(pod *corev1.Pod) bool {
	status, _ := containerStatus(pod)
	return status.State.Terminated == nil && (pod.Spec.NodeName != "" || pod.DeletionTimestamp == nil)
}
