package hcistudy

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// setting finds a value of a definition of vdbench.
var setting = regexp.MustCompile(`(?:^|,)(xfersize|rdpct|seekpct|threads|elapsed|warmup|iorate|range)=(\([^)]*\)|[^,]*)`)

// vdbench reads a parameter file as HCIBench makes them: disks alike, one workload, one run.
func (p *Parameters) vdbench(text string) error {
	values := map[string]string{}
	kinds := map[string]int{}
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		kind, _, _ := strings.Cut(line, "=")
		switch kind {
		case "sd", "wd", "rd":
			kinds[kind]++
			for _, m := range setting.FindAllStringSubmatch(line, -1) {
				values[m[1]] = m[2]
			}
		case "compratio", "dedupratio":
			values[kind] = strings.TrimPrefix(line, kind+"=")
		case "":
		default:
			if !strings.HasPrefix(line, "*") {
				p.Without = append(p.Without, line)
			}
		}
	}
	if kinds["wd"] != 1 || kinds["rd"] != 1 || kinds["sd"] == 0 {
		return fmt.Errorf("%d workloads and %d runs of vdbench: take a file per load", kinds["wd"], kinds["rd"])
	}
	size, err := sizeOf(values["xfersize"])
	if err != nil {
		return err
	}
	p.Disks = kinds["sd"]
	random := values["seekpct"]
	if random == "random" || random == "" {
		random = "100"
	}
	p.set("block", size.String())
	p.set("read", fmt.Sprintf("%g%%", number(values["rdpct"])))
	p.set("random", fmt.Sprintf("%g%%", number(random)))
	p.set("depth", fmt.Sprint(max(1, int(number(values["threads"])))))
	p.Rate = number(values["iorate"])
	if _, share, found := strings.Cut(strings.Trim(values["range"], "()"), ","); found {
		p.set("working_set", fmt.Sprintf("%g%%", number(share)))
	}
	// A ratio of 2:1 leaves half of the data.
	for _, ratio := range [][2]string{{"compratio", "compress"}, {"dedupratio", "dedup"}} {
		if r := number(values[ratio[0]]); r > 1 {
			p.set(ratio[1], fmt.Sprintf("%.0f%%", 100*(1-1/r)))
		}
	}
	p.Window, p.Warmup = time.Duration(number(values["elapsed"]))*time.Second, time.Duration(number(values["warmup"]))*time.Second
	if p.Window == 0 {
		return errors.New("the run of vdbench has no elapsed time")
	}
	return nil
}
