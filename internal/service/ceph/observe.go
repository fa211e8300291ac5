package ceph

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/parameter"
)

// poolSettings is the answer to osd pool get.
type poolSettings struct {
	Size      int    `json:"size"`
	Profile   string `json:"erasure_code_profile"`
	Mode      string `json:"compression_mode"`
	Algorithm string `json:"compression_algorithm"`
	Checksum  string `json:"csum_type"`
}

// levels are the settings of a replicated pool.
func (p poolSettings) levels() map[string]string {
	observed := map[string]string{"redundancy": fmt.Sprintf("replica:%d", p.Size), "compression": "none"}
	if p.Checksum != "" {
		observed["checksum"] = p.Checksum
	}
	if p.Mode == "aggressive" || p.Mode == "force" {
		observed["compression"] = p.Algorithm
	}
	return observed
}

// observer reads the settings back: of the pool from the monitor, of the OSDs from the first that answers.
func (s Settings) observer(c *cluster) func(context.Context) (map[string]string, error) {
	return func(ctx context.Context) (map[string]string, error) {
		commands := []string{"osd stat", "osd pool get " + s.dataPool() + " all"}
		if s.erasureCoded() {
			commands = append(commands, "osd erasure-code-profile get "+profile)
		}
		answers, err := c.monitor(ctx, commands...)
		if err != nil {
			return nil, err
		}
		var stat struct {
			OSDs int `json:"num_osds"`
		}
		var p poolSettings
		code := struct{ K, M string }{}
		for i, into := range []any{&stat, &p, &code} {
			if i < len(answers) {
				if err := json.Unmarshal(answers[i], into); err != nil {
					return nil, fmt.Errorf("parse the answer to %s: %w", commands[i], err)
				}
			}
		}
		observed := p.levels()
		observed["osds"] = strconv.Itoa(stat.OSDs)
		if code.K != "" {
			observed["redundancy"] = "ec:" + code.K + "+" + code.M
		}
		for setting, option := range map[string]string{"size": "bluestore_block_size", "cache": "bluestore_cache_size"} {
			if text, err := c.option(ctx, option); err == nil {
				if n, err := strconv.ParseInt(text, 10, 64); err == nil {
					observed[setting] = parameter.Bytes(n).String()
				}
			}
		}
		return observed, c.observeNetwork(ctx, observed)
	}
}

// option reads an option of the OSDs.
func (c *cluster) option(ctx context.Context, name string) (value string, err error) {
	for n := range c.osds {
		var all map[string]string
		if err = c.command(ctx, osd(n), map[string]string{"prefix": "config get", "var": name}, &all); err == nil {
			return all[name], nil
		}
	}
	return "", err
}

// unsettled reports OSDs that do not answer, and placement groups that are not clean.
func (c *cluster) unsettled(ctx context.Context) (string, error) {
	var down []string
	states := map[string]int{}
	for n := range c.osds {
		var history struct {
			Groups []struct {
				Currently string `json:"currently"`
			} `json:"pgs"`
		}
		if err := c.ask(ctx, osd(n), "dump_pgstate_history", &history); err != nil {
			if ctx.Err() != nil {
				return "", err
			}
			down = append(down, osd(n))
			continue
		}
		for _, g := range history.Groups {
			if state, primary := strings.CutPrefix(g.Currently, "Started/Primary/"); primary && state != "Active/Clean" {
				states[state[strings.LastIndexByte(state, '/')+1:]]++
			}
		}
	}
	var busy []string
	if len(down) > 0 {
		busy = append(busy, "no answer from "+strings.Join(down, " and "))
	}
	for state, n := range states {
		busy = append(busy, fmt.Sprintf("%d placement groups in state %s", n, state))
	}
	slices.Sort(busy)
	return strings.Join(busy, ", "), nil
}
