package main

import (
	"context"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

// balancers gives services of type LoadBalancer an address where nothing listens.
type balancers struct{ client kubernetes.Interface }

func (b *balancers) run(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(b.client, 0)
	_, err := factory.Core().V1().Services().Informer().AddEventHandler(onChange(func(s *corev1.Service) {
		report(ctx, "address of the service "+s.Namespace+"/"+s.Name, b.provide(ctx, s))
	}))
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
	return nil
}

// provide writes the address of a service that has none yet.
func (b *balancers) provide(ctx context.Context, seen *corev1.Service) error {
	if !wantsAddress(seen) {
		return nil
	}
	return ignoreMissing(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		s, err := b.client.CoreV1().Services(seen.Namespace).Get(ctx, seen.Name, metav1.GetOptions{})
		if err != nil || !wantsAddress(s) {
			return err
		}
		h := hashOf(s.UID)
		address := netip.AddrFrom4([4]byte{10, 2, byte(h >> 8), byte(h)})
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address.String()}}
		_, err = b.client.CoreV1().Services(s.Namespace).UpdateStatus(ctx, s, metav1.UpdateOptions{})
		return err
	}))
}

// wantsAddress reports whether this cluster must provide an address. Services with a load balancer
// class belong to other controllers.
func wantsAddress(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.LoadBalancerClass == nil &&
		len(s.Status.LoadBalancer.Ingress) == 0 &&
		s.DeletionTimestamp == nil
}
