// The look-ups of an exporter of consumer groups, by franz-go, the client that kminion stands on, and nothing else: every
// group with its committed offsets, and the start and the end of every partition. No page is drawn. What an exporter on
// this client costs is this, and its page on top.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	interval, err := time.ParseDuration(os.Args[2])
	if err != nil {
		panic(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(os.Args[1]))
	if err != nil {
		panic(err)
	}
	admin := kadm.NewClient(client)
	rounds := time.NewTicker(interval)
	for {
		began := time.Now()
		partitions, committed := cycle(admin)
		fmt.Printf("cycle %.3f ms, %d partitions, %d committed\n", time.Since(began).Seconds()*1e3, partitions, committed)
		<-rounds.C
	}
}

func cycle(admin *kadm.Client) (partitions, committed int) {
	ctx := context.Background()
	groups, err := admin.ListGroups(ctx)
	must(err)
	_, err = admin.DescribeGroups(ctx, groups.Groups()...)
	must(err)
	offsets := admin.FetchManyOffsets(ctx, groups.Groups()...)
	must(offsets.Error())
	offsets.EachError(func(one kadm.FetchOffsetsResponse) { must(one.Err) })
	starts, err := admin.ListStartOffsets(ctx)
	must(err)
	ends, err := admin.ListEndOffsets(ctx)
	must(err)
	must(starts.Error())
	must(ends.Error())
	for _, one := range offsets {
		for _, topic := range one.Fetched {
			committed += len(topic)
		}
	}
	for _, topic := range ends {
		partitions += len(topic)
	}
	return partitions, committed
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
