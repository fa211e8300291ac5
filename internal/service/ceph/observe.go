package ceph

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"plimsoll/internal/parameter"
	"plimsoll/internal/service/ceph/crush"
)

// poolSettings is the answer to osd pool get.
type poolSettings struct {
	Size      int    `json:"size"`
	Rule      string `json:"crush_rule"`
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

// observe reads the settings back: of the pool from the monitor, of the OSDs from the first that answers.
func (c *cluster) observe(ctx context.Context) (map[string]string, error) {
	c.mu.Lock()
	at := c.policy
	c.mu.Unlock()
	commands := []string{"osd stat", "osd pool get " + at.data() + " all", "osd crush dump"}
	if at.erasureCoded() {
		commands = append(commands, "osd erasure-code-profile get "+at.profile())
	}
	answers, err := c.monitor.Ask(ctx, commands...)
	if err != nil {
		return nil, err
	}
	var stat struct {
		OSDs int `json:"num_osds"`
	}
	var p poolSettings
	code := struct{ K, M string }{}
	var crush crush.Map
	for i, into := range []any{&stat, &p, &crush, &code} {
		if i < len(answers) {
			if err := json.Unmarshal(answers[i], into); err != nil {
				return nil, fmt.Errorf("parse the answer to %s: %w", commands[i], err)
			}
		}
	}
	observed := p.levels()
	observed["osds"] = strconv.Itoa(stat.OSDs)
	if n := crush.Sites(p.Rule); n > 0 {
		observed["sites"] = strconv.Itoa(n)
	}
	if code.K != "" {
		observed["redundancy"] = "ec:" + code.K + "+" + code.M
	}
	for setting, option := range map[string]string{"size": "bluestore_block_size", "cache": "bluestore_cache_size"} {
		if text, err := c.daemons.option(ctx, option); err == nil {
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				observed[setting] = parameter.Bytes(n).String()
			}
		}
	}
	return observed, c.network.observe(ctx, observed)
}
