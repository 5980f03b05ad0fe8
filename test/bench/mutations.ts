import { parseAst } from 'vitest/node';

/** One small change of a source file after which a test of it should fail. */
export interface Mutation {
  /** Of the text that is replaced. */
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  readonly line: number;
  /** What a person reads: the expression on one line, long operands shortened. */
  readonly before: string;
  readonly after: string;
}

/** A node of the syntax tree, as far as it is looked at here. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

const OPERATORS: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '+=': '-=',
  '-=': '+=',
};
const METHODS: Readonly<Record<string, string>> = {
  some: 'every',
  every: 'some',
  min: 'max',
  max: 'min',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
};
/** Calls that choose or order: without them the list is as it was. */
const DROPPED = new Set(['filter', 'toSorted', 'toReversed']);
/** Larger ones are sizes and times, of which no one tests every step; but for what is written in hexadecimal. */
const MAX_NUMBER = 64;
/** Of an operand that is shown. */
const SHOWN = 60;
const EXPRESSION_TYPES = new Set(['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression']);
/** Of words for people, of imports and of types there are none. */
const SKIPPED = new Set(['ImportDeclaration', 'ImportExpression', 'ExportAllDeclaration', 'TemplateLiteral']);

/** All mutations of a TypeScript source, in the order of the text. */
export function mutationsOf(source: string): Mutation[] {
  const found: Mutation[] = [];
  const text = ({ start, end }: { readonly start: number; readonly end: number }) => source.slice(start, end);
  const add = (node: Node, replacement: string, before = text(node), after = replacement) => {
    const line = source.slice(0, node.start).split('\n').length;
    found.push({ start: node.start, end: node.end, replacement, line, before: shown(before), after: shown(after) });
  };
  const replaceOperator = (node: Node, operator: string, left: Node, right: Node) => {
    const other = OPERATORS[operator];
    if (other === undefined || (operator === '+' && (isText(left) || isText(right)))) return;
    const between = source.slice(left.end, right.start);
    const at = left.end + between.indexOf(operator);
    const replacement = source.slice(node.start, at) + other + source.slice(at + operator.length, node.end);
    const around = (sign: string) => `${shown(text(left), true)} ${sign} ${shown(text(right))}`;
    add(node, replacement, around(operator), around(other));
  };
  const mutateLiteral = (node: Node, parent: Node) => {
    const { value } = node as { readonly value?: unknown };
    const other =
      typeof value === 'boolean' ? String(!value) : isCount(node, parent) ? `${Number(value) + 1}` : undefined;
    if (other === undefined) return;
    const [from, to] = [source.lastIndexOf('\n', node.start) + 1, source.indexOf('\n', node.end)];
    const after = source.slice(from, node.start) + other + source.slice(node.end, to);
    add(node, other, source.slice(from, to).trim(), after.trim());
  };
  const visit = (node: Node, parent: Node) => {
    if (EXPRESSION_TYPES.has(node.type)) return visit(asNode(node['expression']), node);
    if (SKIPPED.has(node.type) || node.type.startsWith('TS') || isError(node)) return;
    switch (node.type) {
      case 'BinaryExpression':
      case 'LogicalExpression':
      case 'AssignmentExpression': {
        const [left, right] = [asNode(node['left']), asNode(node['right'])];
        if (node['operator'] === '??') add(node, source.slice(node.start, source.indexOf('??', left.end)).trimEnd());
        else replaceOperator(node, String(node['operator']), left, right);
        break;
      }
      case 'IfStatement':
      case 'ConditionalExpression': {
        const test = asNode(node['test']);
        const [open, close] = node.type === 'IfStatement' ? ['if (', ')'] : ['', ' ? …'];
        for (const value of ['true', 'false'])
          add(test, value, `${open}${shown(text(test))}${close}`, `${open}${value}${close}`);
        break;
      }
      case 'UnaryExpression':
        if (node['operator'] === '!' || node['operator'] === '-') add(node, text(asNode(node['argument'])));
        break;
      case 'Literal':
        mutateLiteral(node, parent);
        break;
      case 'NewExpression':
        for (const element of elementsOfSet(node)) {
          const comma = source.indexOf(',', element.end);
          const end = comma === -1 || source.slice(element.end, comma).trim() !== '' ? element.end : comma + 1;
          add({ ...element, end }, '', `${text(element)} in a Set`, '');
        }
        break;
      case 'CallExpression': {
        const callee = asNode(node['callee']);
        if (callee.type !== 'MemberExpression' || callee['computed'] === true) break;
        const [object, property] = [asNode(callee['object']), asNode(callee['property'])];
        const other = METHODS[text(property)];
        if (other !== undefined) add(property, other, `${shown(text(object), true)}.${text(property)}`, `….${other}`);
        if (DROPPED.has(text(property))) add(node, text(object));
        break;
      }
      default:
    }
    for (const child of childrenOf(node)) visit(child, node);
  };
  const program = parseAst(source, { lang: 'ts' }) as unknown as Node;
  visit(program, program);
  return found.toSorted((a, b) => a.start - b.start);
}

/** What `new Set([…])` names. */
function elementsOfSet(node: Node): readonly Node[] {
  const [list] = childrenOf({ arguments: node['arguments'] });
  const isSet = asNode(node['callee'])['name'] === 'Set' && list?.type === 'ArrayExpression';
  return isSet ? childrenOf({ elements: list['elements'] }) : [];
}

function isText(node: Node): boolean {
  if (node.type === 'TemplateLiteral' || typeof node['value'] === 'string') return true;
  return node.type === 'BinaryExpression' && (isText(asNode(node['left'])) || isText(asNode(node['right'])));
}

function isCount(node: Node, parent: Node): boolean {
  if (typeof node['value'] !== 'number' || (parent.type === 'Property' && parent['key'] === node)) return false;
  if (parent['operator'] === '*' || parent['operator'] === '/') return false;
  // The sign of a comparison counts, not its size.
  if (parent.type === 'UnaryExpression' && parent['operator'] === '-') return false;
  return node['value'] <= MAX_NUMBER || String(node['raw']).startsWith('0x');
}

function isError(node: Node): boolean {
  return node.type === 'NewExpression' && String(asNode(node['callee'])['name']).endsWith('Error');
}

/** The nodes directly below one. */
export function childrenOf(node: object): Node[] {
  return Object.values(node)
    .flat()
    .filter((child): child is Node => typeof child === 'object' && child !== null && 'type' in child);
}

function asNode(value: unknown): Node {
  return value as Node;
}

function shown(text: string, fromEnd = false): string {
  const line = text.replaceAll(/\s+/g, ' ');
  if (line.length <= 2 * SHOWN) return line;
  return fromEnd ? `…${line.slice(-SHOWN)}` : `${line.slice(0, SHOWN)}…`;
}
