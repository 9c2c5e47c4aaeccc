package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/component-base/version"
)

const (
	nodeName = "nuon-0"
	// beat is the interval of the node's heartbeat.
	beat = 10 * time.Second
)

// startNode starts everything that a node and its cloud would do: the fake kubelet, the
// provisioning of volumes, and the addresses of load balancers.
func startNode(ctx context.Context, d *directory) ([]*part, error) {
	client, err := d.client()
	if err != nil {
		return nil, err
	}
	unable := trial(d)
	k := newKubelet(client, d, unable)
	server, port, err := k.serve(d)
	if err != nil {
		return nil, err
	}
	n := &node{client: client, port: port, containers: supported}
	if unable != nil {
		n.containers = unable.Error()
	}
	if err := errors.Join(n.appear(ctx), makeClass(ctx, client)); err != nil {
		stopAll(0, server)
		return nil, err
	}
	return []*part{
		server, start("node", n.run), start("kubelet", k.run),
		start("volumes", (&volumes{client: client, dir: d.path(volumesName)}).run),
		start("load balancers", (&balancers{client: client}).run),
	}, nil
}

// node is the only machine of the cluster.
type node struct {
	client kubernetes.Interface
	port   int32 // of its log server
	// containers states whether it runs real containers; see markContainers
	containers string
}

// appear creates the node, or updates the port of its log server in the existing one.
func (n *node) appear(ctx context.Context) error {
	labels := map[string]string{
		corev1.LabelHostname: nodeName, corev1.LabelOSStable: runtime.GOOS, corev1.LabelArchStable: runtime.GOARCH,
		corev1.LabelTopologyRegion: "local", corev1.LabelTopologyZone: "local-a",
	}
	made := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName, Labels: labels,
		Annotations: map[string]string{markContainers: n.containers}}}
	n.describe(made, time.Now())
	_, err := n.client.CoreV1().Nodes().Create(ctx, made, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": made.Annotations}}) // it is texts
		_, err = n.client.CoreV1().Nodes().Patch(ctx, nodeName, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		return fmt.Errorf("make the node: %w", err)
	}
	return n.beat(ctx)
}

// run sends heartbeats until ctx ends.
func (n *node) run(ctx context.Context) error {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := n.beat(ctx); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "cluster:", err) // the next heartbeat may succeed
			}
		}
	}
}

// beat writes the node's status. The controllers write it, too, so it retries after a conflict.
func (n *node) beat(ctx context.Context) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		now, err := n.client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		n.describe(now, time.Now())
		_, err = n.client.CoreV1().Nodes().UpdateStatus(ctx, now, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("say that the node lives: %w", err)
	}
	return nil
}

// describe sets the properties that a kubelet reports about its machine.
func (n *node) describe(node *corev1.Node, now time.Time) {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("1000"),
	}
	s := &node.Status
	s.Capacity, s.Allocatable = room, room
	// no name, because none can be resolved
	s.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	s.DaemonEndpoints.KubeletEndpoint.Port = n.port
	s.NodeInfo.KubeletVersion, s.NodeInfo.OperatingSystem, s.NodeInfo.Architecture = version.Get().GitVersion,
		runtime.GOOS, runtime.GOARCH
	s.NodeInfo.ContainerRuntimeVersion = "pretended://1"
	since := metav1.NewTime(now)
	for _, c := range s.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			since = c.LastTransitionTime
		}
	}
	s.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		Message: "the pretended kubelet is ready", LastTransitionTime: since, LastHeartbeatTime: metav1.NewTime(now),
	}}
}

func nodeIsReady(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
