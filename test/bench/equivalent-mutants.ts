/**
 * Mutants that no test can kill, because what they do is the same: by file and reason, what is there and what stands for it. They are subtracted from the
 * mutants of `npm run bench -- mutants`, as it shows them.
 */
export const EQUIVALENT_MUTANTS: Readonly<
  Record<string, readonly (readonly [reason: string, ...changes: (readonly [before: string, after: string])[]])[]>
> = {
  'lambdas/approval/selection.ts': [
    [
      'A name too short for both ends is refused by the last comparison too: `at` begins at `first.length`.',
      ['first.length + last.length', 'first.length - last.length'],
    ],
  ],
  'lambdas/x509/der.ts': [
    [
      'Nothing reads it before a header has been read, which sets it.',
      ['#contentStart = 0;', '#contentStart = 1;'],
      ['#contentEnd = 0;', '#contentEnd = 1;'],
    ],
    ['Both count the same exactly.', ['arc <= Number.MAX_SAFE_INTEGER', 'arc < Number.MAX_SAFE_INTEGER']],
  ],
  'lambdas/approval/approve.ts': [
    [
      'A report tells the difference of two totals.',
      ['const total = { sent: 0, writes: 0, retries: 0 };', 'const total = { sent: 1, writes: 0, retries: 0 };'],
      ['const total = { sent: 0, writes: 0, retries: 0 };', 'const total = { sent: 0, writes: 1, retries: 0 };'],
      ['const total = { sent: 0, writes: 0, retries: 0 };', 'const total = { sent: 0, writes: 0, retries: 1 };'],
    ],
  ],
  'lambdas/audit/rules/unread.ts': [
    ['A group has a first one.', ['if (first === undefined)', 'if (false)']],
    ['Neither is more than a day.', ['seen(place) ?? now', 'seen(place)']],
    [
      'Every observation and finding has its time, none in 1970.',
      ['timeOf(observedAt) ?? []', 'timeOf(observedAt)'],
      ['timeOf(since) ?? []', 'timeOf(since)'],
      ['timeOf(observation.observedAt) ?? 0', 'timeOf(observation.observedAt)'],
      ['const at = timeOf(observation.observedAt) ?? 0;', 'const at = timeOf(observation.observedAt) ?? 1;'],
    ],
  ],
  'lambdas/audit/rules/authority.ts': [
    [
      'Certificates begin and end in whole seconds: none lives for 1 ms.',
      ['const life = usual > 0 ? usual : LEAF_LIFE_MS;', 'const life = usual > 1 ? usual : LEAF_LIFE_MS;'],
    ],
    ['The middle is before the end, so there is one.', ['sorted[middle] ?? 0', 'sorted[middle]']],
    ['A group has one certificate at least.', ['leaves[0]?.best ?? {}', 'leaves[0]?.best']],
    ['Every signer is an authority, and has its work.', ['if (work === undefined)', 'if (false)']],
    ['Either is one of 64.', ['if (next % 64 === 0) yield;', 'if (next % 64 === 1) yield;']],
    ['Of two that begin at once either is first.', ['b > a', 'b >= a'], ['b < a', 'b <= a']],
  ],
  'lambdas/audit/rules/coverage.ts': [
    [
      'No clock says that it is the first millisecond of 1970, or before.',
      ['timeOf(createdAt) ?? 0', 'timeOf(createdAt)'],
      [
        'const isReplaced = [...present.values()].some(({ createdAt }) => (timeOf(createdAt) ?? 0) >= since);',
        'const isReplaced = [...present.values()].some(({ createdAt }) => (timeOf(createdAt) ?? 1) >= since);',
      ],
    ],
  ],
  'lambdas/audit/certificates.ts': [
    ['A name that is set to what it is stays so.', ['node < known', 'node <= known']],
    [
      'What has no end is in no slot, and every observation has its time: it is as little later without a number as with 0.',
      ['timeOf(time) ?? 0', 'timeOf(time)'],
      ['return timeOf(time) ?? 0;', 'return timeOf(time) ?? 1;'],
    ],
    [
      'A group has a first one, and no machine is without a name.',
      ['if (best === undefined)', 'if (false)'],
      ['if (first === undefined)', 'if (false)'],
      ['best.member === undefined ? …', 'false ? …'],
    ],
  ],
  'lambdas/audit/rules/inferred-ends.ts': [['Members have a time.', ['timeOf(createdAt) ?? []', 'timeOf(createdAt)']]],
  'lambdas/audit/rules/kubelet.ts': [
    ['Only a renewal has errors, or none.', ["if (observation.kind !== 'renewal')", 'if (false)']],
    ['What has no start has no length: neither is above 0.', ['notBefore === undefined ? …', 'false ? …']],
  ],
  'lambdas/audit/rules/eks-authority.ts': [
    ['Neither an infinite time nor none is before another.', ['timeOf(at) ?? Number.POSITIVE_INFINITY', 'timeOf(at)']],
  ],
  'lambdas/audit/keep-observations.ts': [
    [
      'Neither an empty text nor the word that a regular expression makes of nothing ends with a port.',
      ["where ?? ''", 'where'],
    ],
    [
      'What is compared has one key, and the kind is part of it: both are of it or none is.',
      [
        "before.kind === 'requests' && now.kind === 'requests'",
        "before.kind === 'requests' || now.kind === 'requests'",
      ],
      [
        "before.kind !== 'certificate' || now?.kind !== 'certificate'",
        "before.kind !== 'certificate' && now?.kind !== 'certificate'",
      ],
    ],
    [
      'What is no certificate has no fingerprint, is issued by none, and begins and ends never.',
      ["observation.kind === 'certificate' ? …", 'true ? …'],
      ["if (observation.kind === 'certificate')", 'if (true)'],
      ['now.filter(isCertificate)', 'now'],
      ['previous.filter(isCertificate)', 'previous'],
      ['now .filter(isCertificate)', 'now'],
    ],
    [
      'Only a member has a node too, and it is never gone while the list that had it is not read; else it is dropped.',
      ["observation.kind === 'renewal' ? …", 'true ? …'],
    ],
  ],
  'lambdas/health/cluster-signals.ts': [
    ['Of two equal times each is the later one.', ['Date.parse(b) > Date.parse(a)', 'Date.parse(b) >= Date.parse(a)']],
    [
      'The expression has both groups or does not match.',
      ['name === undefined || owner === undefined', 'name === undefined && owner === undefined'],
    ],
    [
      'No signal is so young: each begins after minutes, or at one second.',
      [
        'return Number.isFinite(seconds) ? Math.max(0, seconds) : 0;',
        'return Number.isFinite(seconds) ? Math.max(1, seconds) : 0;',
      ],
      [
        'return Number.isFinite(seconds) ? Math.max(0, seconds) : 0;',
        'return Number.isFinite(seconds) ? Math.max(0, seconds) : 1;',
      ],
    ],
    ['What is no number is not above 0, and so no signal.', ['Number.isFinite(seconds) ? …', 'true ? …']],
  ],
  'lambdas/health/culprits.ts': [
    ['Every signal has an alarm.', ['ALARMS_OF.get(id) ?? []', 'ALARMS_OF.get(id)']],
    ['No signal has two alarms.', ["severities.includes('critical') ? …", 'false ? …']],
  ],
  'lambdas/health/finding-groups.ts': [
    [
      'Two entries of one key and one count are the same.',
      ['entry.count > most.get(key)?.count ?? 0', 'entry.count >= most.get(key)?.count ?? 0'],
    ],
    ['A group has one finding at least.', ['if (first === undefined)', 'if (false)']],
  ],
  'lambdas/health/fleet-health.ts': [
    ['No time is no number, for which the next line has now.', ['due === undefined ? …', 'false ? …']],
    [
      'Ids are keys of the registry: no two are the same.',
      ['a.id < b.id', 'a.id <= b.id'],
      ['a.id > b.id', 'a.id >= b.id'],
    ],
    [
      'A sort asks for the sign.',
      ['(a.id < b.id ? -1 : Number(a.id > b.id));', '(a.id < b.id ? -2 : Number(a.id > b.id));'],
    ],
  ],
  'lambdas/fleet/plan-tick.ts': [
    ['In a cadence that is no number nothing has its turn.', ['if (everyMinutes === undefined)', 'if (false)']],
  ],
  'lambdas/fleet/update-registry.ts': [
    ['Ids are keys: no two are the same.', ['a < b', 'a <= b'], ['a > b', 'a >= b']],
    [
      'A sort asks for the sign.',
      [
        'return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : Number(a > b))));',
        'return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -2 : Number(a > b))));',
      ],
    ],
  ],
  'lambdas/fleet/fold-outcomes.ts': [
    [
      'Two outcomes that began in the same millisecond are the same outcome.',
      ['startedAt <= before.sweptAt', 'startedAt < before.sweptAt'],
      ['startedAt > time', 'startedAt >= time'],
    ],
    ['Of two equal times each is the earlier one.', ['time < finding.since', 'time <= finding.since']],
    [
      'Of two clusters that were swept at once either is kept.',
      ['a.sweptAt > b.sweptAt', 'a.sweptAt >= b.sweptAt'],
      ['a.sweptAt < b.sweptAt', 'a.sweptAt <= b.sweptAt'],
    ],
    [
      'A sort asks for the sign.',
      [
        '.toSorted((a, b) => (a.sweptAt > b.sweptAt ? -1 : Number(a.sweptAt < b.sweptAt)))',
        '.toSorted((a, b) => (a.sweptAt > b.sweptAt ? -2 : Number(a.sweptAt < b.sweptAt)))',
      ],
      [
        'return Object.fromEntries(newest.toSorted(([a], [b]) => (a < b ? -1 : Number(a > b))));',
        'return Object.fromEntries(newest.toSorted(([a], [b]) => (a < b ? -2 : Number(a > b))));',
      ],
    ],
    ['Ids are keys: no two are the same.', ['a < b', 'a <= b'], ['a > b', 'a >= b']],
  ],
  'lambdas/cluster/rollout-ledger.ts': [
    [
      'As many as fit are all of them, in whatever order.',
      ['rollouts.length <= MAX_ROLLOUTS', 'rollouts.length < MAX_ROLLOUTS'],
    ],
  ],
  'lambdas/rollout/observe.ts': [
    ['Nothing asks for an object without a name.', ['if (found === undefined)', 'if (false)']],
    [
      'Either is in the first second of 1970.',
      [
        'notAfter: Math.max(0, ...readable(certificates).map(({ notAfter }) => notAfter)),',
        'notAfter: Math.max(1, ...readable(certificates).map(({ notAfter }) => notAfter)),',
      ],
    ],
  ],
  'lambdas/rollout/served-certificates.ts': [
    ['Each place that is asked has its result.', ['if (result === undefined)', 'if (false)']],
  ],
  'lambdas/rollout/checks/span.ts': [
    [
      'A share of a millisecond: certificates end at whole ones.',
      [
        'const lifeMs = Math.max(0, Math.min(notAfter - notBefore, validityMs));',
        'const lifeMs = Math.max(1, Math.min(notAfter - notBefore, validityMs));',
      ],
    ],
  ],
  'lambdas/x509/pem.ts': [['A text has a first line.', ['lines[0]?.length ?? 0', 'lines[0]?.length ?? 1']]],
  'lambdas/x509/certificate-bundle.ts': [
    ['A BEGIN line is longer than that.', ['next = nextBlock(read, at + 1);', 'next = nextBlock(read, at + 2);']],
  ],
  'lambdas/x509/expired-server.ts': [
    ['Nothing else is thrown: a bug would be.', ['if (error instanceof Refused)', 'if (true)']],
    [
      'Without a bit, none is set.',
      ['value.octets(TAG.bitString, what)[1] ?? 0', 'value.octets(TAG.bitString, what)[1]'],
    ],
  ],
  'lambdas/x509/decode-certificate-request.ts': [
    [
      'It is called for what is there twice.',
      ['[...count].find(([, times]) => times > 1) ?? []', '[...count].find(([, times]) => times > 1)'],
    ],
    ['Nothing else is thrown: a bug would be.', ['if (!(problem instanceof Refused))', 'if (false)']],
  ],
  'lambdas/x509/decode-certificate.ts': [
    [
      'Whatever is decoded, nothing else is thrown: a bug would be.',
      ['if (!(error instanceof Refused))', 'if (false)'],
    ],
  ],
  'lambdas/x509/issued-by.ts': [
    [
      'What was looked at is looked at again, and found to be the same.',
      ['if (seen.has(current.fingerprint))', 'if (false)'],
    ],
  ],
  'lambdas/approval/rules/rules.ts': [
    ['An RDN of one attribute is looked at here.', ['rdn.every', '….some']],
    ['What verifies says why it does not.', ["signature?.problem ?? 'it is invalid'", 'signature?.problem']],
    ['Its type has the ids of the rules.', ['if (found === undefined)', 'if (false)']],
  ],
  'lambdas/approval/observe.ts': [
    ['Nothing else is thrown: a bug would be.', ['if (!(error instanceof KubernetesError))', 'if (false)']],
  ],
  'lambdas/approval/evidence/believed.ts': [
    ['A look-up answers addresses.', ['canonicalAddress(address) ?? address', 'canonicalAddress(address)']],
    ['What could not be read has nothing of a Cluster.', ['isProblem(object) ? …', 'false ? …']],
  ],
  'lambdas/approval/decide-approval.ts': [
    [
      'A CSR without a standing claim fails no rule about one; it only costs time.',
      ['standing.length > 0 ? …', 'true ? …'],
      ['standing.length > 0', 'standing.length >= 0'],
    ],
    [
      'A policy has whole seconds.',
      [
        "if (Math.max(0, ageMs) < minSeconds * 1000) return 'TooYoung';",
        "if (Math.max(1, ageMs) < minSeconds * 1000) return 'TooYoung';",
      ],
    ],
    ['No rule asks for the signature of a request that could not be decoded.', ['if (decoded.ok)', 'if (true)']],
    ['Every name of an approved request is proven by something.', ["provenBy?.object ?? ''", 'provenBy?.object']],
    [
      'A judgement that does not pass has a check that failed.',
      ['decisive === undefined ? …', 'false ? …'],
      ["decisive?.reason ?? 'ObjectMalformed'", 'decisive?.reason'],
    ],
    [
      'No policy judges at this age, so the first one has a reason.',
      ["ageReason(ageMs, first, cluster) ?? 'Orphaned'", 'ageReason(ageMs, first, cluster)'],
    ],
  ],
  'lambdas/resources/status-addresses.ts': [
    ['Neither is a type of an address.', ["text(entry, 'type') ?? ''", "text(entry, 'type')"]],
  ],
  'lambdas/approval/act.ts': [['No code is as little in the set as an empty one.', ["code ?? ''", 'code']]],
  'lambdas/rollout/checks/neighbours.ts': [
    [
      'A rollout is planned for a control plane only, and no control plane is without a namespace.',
      ["controlPlane?.namespace ?? ''", 'controlPlane?.namespace'],
    ],
  ],
  'lambdas/rollout/progress.ts': [
    [
      'What has no time is filtered out, and the latest of the others is never before `made.since`.',
      ['sign?.since ?? made.since', 'sign?.since'],
    ],
  ],
  'lambdas/rollout/policy-of.ts': [['It has as many parts as the glob.', ["parts[at] ?? ''", 'parts[at]']]],
  'lambdas/rollout/step-rollout.ts': [
    ['Only a write that begins a rollout is claimed.', ['if (!isBegin(write))', 'if (false)']],
    [
      'A rollout that is open for exactly six hours, to the millisecond, is looked at by chance only.',
      ['now - startedAt > TURN_MS', 'now - startedAt >= TURN_MS'],
    ],
  ],
};
