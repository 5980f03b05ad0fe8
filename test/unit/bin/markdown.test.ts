import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { draw } from '../../../bin/terminal/draw.ts';
import { markdownLines } from '../../../bin/terminal/markdown.ts';

const PAGE = `# A page about one thing, with a long title

**What it means.** The certificate of \`**kube-apiserver**\` has
expired: [the page](https://example.com/a).

- The first item has more than one line,
  as pages have it.
  - An item of it.

1. A step of many words, which comes first.

\`\`\`sh
certmarshal audit --kubeconfig "$KUBECONFIG" --cluster "$CLUSTER"
\`\`\`

Then:

    sudo systemctl restart kubelet --and-more-than-fits

| problem | what to do |
| --- | --- |
| \`refused\` | Nothing listens there. Does it run? |
`;

it('wraps text, items and tables, and no command', () => {
  expect(draw(markdownLines(PAGE), { width: 40 }).split('\n')).toEqual([
    '# A page about one thing, with a long',
    '  title',
    '',
    'What it means. The certificate of',
    '`**kube-apiserver**` has expired: the',
    'page (https://example.com/a).',
    '',
    '- The first item has more than one line,',
    '  as pages have it.',
    '  - An item of it.',
    '',
    '1. A step of many words, which comes',
    '   first.',
    '',
    '```sh',
    'certmarshal audit --kubeconfig "$KUBECONFIG" --cluster "$CLUSTER"',
    '```',
    '',
    'Then:',
    '',
    '    sudo systemctl restart kubelet --and-more-than-fits',
    '',
    '  problem',
    '    what to do',
    '  `refused`',
    '    Nothing listens there. Does it run?',
  ]);
});

it('has columns where there is room, and bold where there are colours', () => {
  expect(draw(markdownLines(PAGE), { width: 50 })).toContain(
    '  problem    what to do\n  `refused`  Nothing listens there. Does it run?',
  );
  expect(draw(markdownLines(PAGE), { width: 50, colours: true })).toContain('\u001b[1mWhat it means.\u001b[22m The');
  const wide = '| a | b | c |\n|---|---|---|\n| long words in a cell | as long as it | the last one |';
  expect(draw(markdownLines(wide), { width: 60 })).toContain('  long words in a cell  as long as it · the last one');
});

const FOLDER = 'docs/runbooks';
const pages = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.md'));

it.each(pages)('%s has no line that is too long but a command, and every command as it is', (file) => {
  const text = readFileSync(`${FOLDER}/${file}`, 'utf8');
  for (const width of [60, 100]) {
    const shown = draw(markdownLines(text), { width });
    const code = (page: string) => page.match(/^```[^]*?^```$|^ {4,}(?:sudo|kubectl|kubeadm|umask) .*$/gm);
    expect(code(shown)).toEqual(code(text));
    const prose = shown.replaceAll(/^```[^]*?^```$|^ {4,}\S.*$/gm, '');
    expect(prose.split('\n').filter((line) => line.length > width)).toEqual([]);
  }
});
