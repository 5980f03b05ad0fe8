import type { ClusterHealth, FleetHealth } from '../../../lambdas/health/fleet-health.ts';
import { ago, criticalCluster, HELD, healthOf, REFUSED, rollingCluster } from './fleets.ts';

/** What somebody would write into a name, a subject or a reason. Each would set `__pwned`, or break the page. */
export const HOSTILE: readonly string[] = [
  '<script>window.__pwned=1</script>',
  '</script><script>window.__pwned=2</script>',
  '<!--<script>',
  '--><img src=x onerror=window.__pwned=3>',
  '"><svg onload=window.__pwned=4>',
  "' onmouseover='window.__pwned=5",
  '" onerror="window.__pwned=6" x="',
  'javascript:window.__pwned=7',
  '</style><style>*{display:none}</style>',
  '</title></textarea></noscript><iframe src=javascript:window.__pwned=8>',
  ']]><a href="https://example.com/">x</a>',
  '\u202Egnp.exe\u2066\u200B',
  'nul\u0000nul\u0007\u001B[31m',
  'lone \uD800 surrogate \uDFFF',
  '__proto__',
  'constructor',
  '${window.__pwned=9}`',
  '{{7*7}}&lt;b&gt;&amp;',
  '\u2028window.__pwned=10\u2029',
  'x'.repeat(10_000),
  '<b>'.repeat(3_334),
];

/** A cluster of which everything that is text is `text`, whatever validation would say of it. */
export function hostileCluster(text: string): ClusterHealth {
  const [cluster] = healthOf([rollingCluster(criticalCluster(0), { ...REFUSED, ...HELD })]).clusters;
  const everywhere = (value: unknown, key: string): unknown => {
    if (Array.isArray(value)) return value.map((entry) => everywhere(entry, key));
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, everywhere(entry, name)]));
    const kept =
      /^(?:state|provider|severity|code|basis|what|verdict|cause|notBefore|notAfter|due|since|at|.*At|read|unread|off|start|from|until|soonestEnd|nextWindow)$/;
    return typeof value === 'string' && !kept.test(key) ? text : value;
  };
  return {
    ...(everywhere(cluster, '') as ClusterHealth),
    findings: [{ kind: text, object: text, message: text, remedy: text, since: ago(5) }],
    maintenance: { until: ago(-5), reason: text },
  };
}

export function hostileFleet(): FleetHealth {
  return viewOf(HOSTILE.map(hostileCluster), {
    problems: HOSTILE.map((text) => ({ kind: text, object: text, message: text, remedy: text, since: ago(5) })),
  });
}

/** A fleet view of clusters that no index would have. */
export function viewOf(clusters: readonly ClusterHealth[], rest: Partial<FleetHealth> = {}): FleetHealth {
  const { counts, ...health } = healthOf([]);
  return { ...health, clusters, counts: { ...counts, critical: clusters.length }, ...rest };
}
