import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { MACHINE_TEMPLATES } from '../../lambdas/kubernetes/infrastructure-templates.ts';
import { EVERYWHERE, PROVIDERS, RELEASES, ROWS, WITHOUT_ROW } from './table.ts';

const page = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

interface Found {
  readonly sources?: readonly string[];
  readonly unproven?: string;
}

/** All facts below a value, sourced or not. */
function factsOf(value: unknown): readonly Found[] {
  if (typeof value !== 'object' || value === null) return [];
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of the table
  return 'sources' in value || 'unproven' in value ? [value as Found] : Object.values(value).flatMap(factsOf);
}

const FACTS = factsOf([RELEASES, EVERYWHERE, PROVIDERS, WITHOUT_ROW]);

/** Cells of the rows of a table in docs/works-with.md. */
function rowsUnder(heading: string): readonly (readonly string[])[] {
  const [, section = ''] = page('docs/works-with.md').split(`\n## ${heading}\n`);
  const [body = ''] = section.split('\n## ');
  return body
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
}

describe('the table of providers', () => {
  it('names the repository, the tag or commit, the file and the lines of every fact', () => {
    const sources = FACTS.flatMap((fact) => fact.sources ?? []);
    expect(sources.length).toBeGreaterThan(100);
    const form = /^[\w.-]+\/[\w.-]+@(?:v\d+\.\d+\.\d+|[0-9a-f]{9}) [\w./-]+:\d+(?:-\d+)?$/;
    expect(sources.filter((source) => !form.test(source))).toEqual([]);
    const backwards = sources.filter((source) => {
      const [, from, until = from] = /:(\d+)(?:-(\d+))?$/.exec(source) ?? [];
      return Number(until) < Number(from);
    });
    expect(backwards).toEqual([]);
  });

  it('says of the release whose row it is', () => {
    for (const { row, provider } of ROWS) {
      expect(row).toBe(`${provider.title}, ${provider.minor}`);
      const tags = factsOf(provider).flatMap(({ sources = [] }) =>
        sources.flatMap((source) => /^aws\/eks-anywhere@(\S+)/.exec(source)?.[1] ?? []),
      );
      expect([row, ...new Set(tags)]).toEqual([row, RELEASES[provider.minor].eksAnywhere]);
    }
  });

  it('is told, where nothing is proven, on docs/coverage.md', () => {
    const missing = new Set(FACTS.flatMap(({ unproven }) => unproven ?? []));
    expect(missing.size).toBeGreaterThan(0);
    const coverage = page('docs/coverage.md');
    expect([...missing].filter((what) => !coverage.includes(what))).toEqual([]);
  });

  it('has the kinds of templates that `certmarshal rbac` grants, and no other', () => {
    const kinds = ROWS.map(({ provider }) => `${provider.infrastructure.value.kinds.toLowerCase()}machinetemplates`);
    expect([...new Set(kinds)].toSorted()).toEqual(MACHINE_TEMPLATES);
  });

  it('is the table of docs/works-with.md', () => {
    const minors = Object.keys(RELEASES);
    const titles = [...new Set(ROWS.map(({ provider }) => provider.title))];
    const mark = (has: boolean) => (has ? 'yes' : 'no');
    const without: Readonly<Record<string, Found & { readonly value: string }>> = WITHOUT_ROW;
    expect(rowsUnder('EKS Anywhere')).toEqual([
      [
        '',
        ...minors,
        'approval by',
        'etcd on machines of its own',
        '`clusterCertificateInfo`',
        '`kubeletConfiguration`',
      ],
      Array.from({ length: minors.length + 5 }, () => '---'),
      ...titles.map((title) => {
        const own = ROWS.filter(({ provider }) => provider.title === title).map(({ provider }) => provider);
        const [{ addresses, externalEtcd, kubeletConfiguration }] = own as [(typeof own)[0]];
        const types = addresses.value?.({ name: 'a', address: '10.0.0.1' }).map(({ type }) => type);
        return [
          title,
          ...minors.map((minor) =>
            own.some((provider) => provider.minor === minor) ? 'yes' : without[`${title}, ${minor}`]?.value,
          ),
          types === undefined ? 'not proven' : `Machine: node name, ${types.join(', ')}`,
          mark(externalEtcd.value),
          types === undefined ? 'not proven' : mark(types.some((type) => type === EVERYWHERE.scanned.value)),
          kubeletConfiguration.value ? 'documented' : 'not documented',
        ];
      }),
    ]);
  });
});

// Cluster API's own tests run its development provider; EKS Anywhere's objects there are played after their sources.
it('is what every object of EKS Anywhere in a test is made from', () => {
  const files = globSync('test/{unit,fleet,bench,control-plane}/**/*.ts', { cwd: new URL('../../', import.meta.url) });
  expect(files.length).toBeGreaterThan(300);
  const invented = files.filter((file) =>
    /apiVersion: 'anywhere\.eks|datacenterRef: |kind: '(?:EtcdadmCluster|KubeadmControlPlane)',\s+metadata:/.test(
      page(file),
    ),
  );
  expect(invented).toEqual([]);
});
