// Informer: memory of a Go extender that watches the cluster.
//
// A SharedInformerFactory of client-go with the two informers that an extender needs, nodes
// and pods: no handlers, no index, Go's default settings.
package main

import (
	"flag"
	"fmt"
	"log"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "`file` that names the API server")
	strip := flag.Bool("strip", false, "drop metadata.managedFields, as careful controllers do")
	flag.Parse()

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	config.QPS, config.Burst = 1000, 1000
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	var options []informers.SharedInformerOption
	if *strip {
		options = append(options, informers.WithTransform(dropManagedFields))
	}
	start := time.Now()
	factory := informers.NewSharedInformerFactoryWithOptions(clientset, 0, options...)
	nodes, pods := factory.Core().V1().Nodes().Informer(), factory.Core().V1().Pods().Informer()
	forever := make(chan struct{})
	factory.Start(forever)
	if !cache.WaitForCacheSync(forever, nodes.HasSynced, pods.HasSynced) {
		log.Fatal("not synced")
	}
	fmt.Printf("synced %d nodes and %d pods in %.3f s\n",
		len(nodes.GetStore().ListKeys()), len(pods.GetStore().ListKeys()), time.Since(start).Seconds())
	<-forever
}

func dropManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}
